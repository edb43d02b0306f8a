-- The SIMs that a pool's enforcement has armed in a cycle: told to stop, by their suspend-on-overage. They get what the pool's
-- run is told next, and a run that is started again finds them.

create table pool_arms (
  tenant_id text not null default app_tenant() references tenants (id),
  cycle_key text not null,
  pool_id integer not null,
  sim_id bigint not null,
  armed_at timestamptz not null,                           -- for the first time
  primary key (tenant_id, cycle_key, pool_id, sim_id),
  constraint pool_arms_pool_id_tenant foreign key (tenant_id, pool_id) references pools (tenant_id, id),
  constraint pool_arms_sim_id_tenant foreign key (tenant_id, sim_id) references sims (tenant_id, id)
);

alter table pool_arms enable row level security;
alter table pool_arms force row level security;
create policy own on pool_arms for all to simherd_tenant
  using (case when tenant_id = (select app_tenant()) then true end) with check (tenant_id = app_tenant());
grant select, insert, delete on pool_arms to simherd_tenant;
