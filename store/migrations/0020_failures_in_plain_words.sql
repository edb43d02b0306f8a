-- Why a ticket failed, in full, is the operator's: it may name addresses. Tenants read failure_text.
-- blocks: tickets, while those that have failed are written anew: a second for some hundred thousand

alter table tickets add column failure_detail text;
-- Forced row-level security binds the owner too: it is lifted for this statement, in this transaction.
alter table tickets no force row level security;
update tickets
   set failure_detail = failure_text,
       failure_text = case failure_code when 'sim_state_conflict' then failure_text else 'the carrier did not do it' end
 where failure_text is not null;
alter table tickets force row level security;
