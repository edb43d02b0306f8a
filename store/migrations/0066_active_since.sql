-- no-transaction
-- Since when the SIM is Active that has been for longest: without one, no usage is missed.

create index concurrently if not exists sims_active on sims (tenant_id, status_since) where status = 1;
