-- no-transaction
-- A row is known by its tenant and its id together: what points at it names both (0037_references_within_a_tenant.sql).

drop index concurrently if exists bulk_tickets_tenant_id;
create unique index concurrently bulk_tickets_tenant_id on bulk_tickets (tenant_id, id);
drop index concurrently if exists guard_holds_tenant_id;
create unique index concurrently guard_holds_tenant_id on guard_holds (tenant_id, id);
drop index concurrently if exists orders_tenant_id;
create unique index concurrently orders_tenant_id on orders (tenant_id, id);
drop index concurrently if exists pools_tenant_id;
create unique index concurrently pools_tenant_id on pools (tenant_id, id);
drop index concurrently if exists provision_batches_tenant_id;
create unique index concurrently provision_batches_tenant_id on provision_batches (tenant_id, id);
drop index concurrently if exists sims_tenant_id;
create unique index concurrently sims_tenant_id on sims (tenant_id, id);
-- The same without being unique.
drop index concurrently if exists sims_tenant;
drop index concurrently if exists pools_tenant;
