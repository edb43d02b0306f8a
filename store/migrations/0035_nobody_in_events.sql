-- Who loaded a rule set, and that one was refused, is the operator's: it stood in the events that every tenant reads.
-- blocks: events, while the platform's are written anew: they are found by an index, and there are few

-- Forced row-level security binds the owner too: it is lifted for these statements, in this transaction.
alter table events no force row level security;
update events set description = regexp_replace(description, ', by .*$', '.')
 where tenant_id is null and title = 'Rule set activated';
delete from events where tenant_id is null and title = 'Rule set rejected';
alter table events force row level security;
