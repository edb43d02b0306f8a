-- no-transaction
-- The tickets of a tenant are claimed in batches, those that are longest due first.

drop index concurrently if exists ticket_work_of_tenant;
create index concurrently ticket_work_of_tenant on ticket_work (tenant_id, due_at, sim_id);
