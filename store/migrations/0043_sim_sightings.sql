-- When a SIM was last seen, and in which device: a narrow table, so that usage neither locks nor rewrites SIMs.
-- The columns of sims stay for the previous release; readers take what is newer (view sim_seen).

create table sim_sightings (
  tenant_id text not null default app_tenant(),
  sim_id bigint not null,
  last_seen_at timestamptz not null,
  imei text not null,                                      -- '' if no record named one
  imei_seen_at timestamptz,
  previous_imei text not null,                             -- the device before, '' if there was none
  primary key (tenant_id, sim_id)                          -- no reference: it would lock the SIM's row
) with (fillfactor = 70);
alter table sim_sightings enable row level security;
alter table sim_sightings force row level security;
create policy own on sim_sightings for all to simherd_tenant
  using (tenant_id = app_tenant()) with check (tenant_id = app_tenant());
grant select, insert, update on sim_sightings to simherd_tenant;

create view sim_seen with (security_invoker = true) as
select s.tenant_id, s.id as sim_id, greatest(s.last_seen_at, g.last_seen_at) as last_seen_at,
       case when d.is_newer then g.imei else s.imei end as imei,
       case when d.is_newer then g.imei_seen_at else s.imei_seen_at end as imei_seen_at,
       case when d.is_newer then g.previous_imei else s.previous_imei end as previous_imei
  from sims s
  left join sim_sightings g on g.tenant_id = s.tenant_id and g.sim_id = s.id
  cross join lateral (
    select coalesce(g.imei_seen_at >= coalesce(s.imei_seen_at, '-infinity'), false) as is_newer) d;
grant select on sim_seen to simherd_tenant;
