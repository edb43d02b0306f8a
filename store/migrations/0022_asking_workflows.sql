-- Which workflow asked for a change, and what a suspension was started with: its tickets have their cause from there.
-- blocks: starts of workflows, while the inputs of those that run are filled in: some rows a SIM that was suspended

alter table audit_log add column workflow_id text;         -- null: no workflow; the key's holder himself

alter table workflow_starts add column input jsonb;        -- domain/lifecycle.ts; null: passed over before it was started

-- Forced row-level security binds the owner too: it is lifted for these statements, in this transaction.
alter table workflow_starts no force row level security;
alter table workflow_outbox no force row level security;
alter table audit_log no force row level security;
update workflow_starts s
   set input = o.request -> 'input'
  from workflow_outbox o
 where o.tenant_id = s.tenant_id and o.workflow_id = s.workflow_id and o.request ->> 'do' = 'signalWithStart';
-- Those that a person started are in the audit trail.
update workflow_starts s
   set input = a.after
  from audit_log a
 where s.input is null and a.tenant_id = s.tenant_id and a.subject = 'workflow' and a.subject_id = s.workflow_id
   and a.after ? 'cycleKey';
alter table workflow_starts force row level security;
alter table workflow_outbox force row level security;
alter table audit_log force row level security;
