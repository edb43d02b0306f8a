-- How far the opening of a cycle has come, a row for each cycle that is being opened in slices of SIMs.
-- The cycle's own row is written last, so nobody takes a cycle for open before it is: no process of the previous
-- release either.

create table cycle_openings (
  tenant_id text not null default app_tenant() references tenants (id),
  cycle_key text not null,
  opened_to bigint not null default 0,                     -- SIMs with an id up to this one have their ledger rows
  primary key (tenant_id, cycle_key)
);
alter table cycle_openings enable row level security;
alter table cycle_openings force row level security;
create policy own on cycle_openings for all to simherd_tenant
  using (tenant_id = app_tenant()) with check (tenant_id = app_tenant());
grant select, insert, update, delete on cycle_openings to simherd_tenant;
