-- What rules would suspend where they may not: a work list, written by evaluations, worked off after their commit.

create table would_suspend (
  tenant_id text not null default app_tenant() references tenants (id),
  rule text not null,
  subject_kind smallint not null check (subject_kind in (1, 2, 3)),  -- SubjectKind
  subject_id bigint not null,
  cycle_key text not null,
  rule_version integer not null,
  target text not null,                                    -- of the rule: whom it picks
  reason text not null,                                    -- the rule's message, filled in
  due_at timestamptz not null,                             -- later after a failure
  primary key (tenant_id, rule, subject_kind, subject_id)
);

alter table would_suspend enable row level security;
alter table would_suspend force row level security;
create policy own on would_suspend to simherd_tenant using (tenant_id = app_tenant()) with check (tenant_id = app_tenant());
create policy all_tenants on would_suspend to simherd_platform using (true);
grant select, insert, update, delete on would_suspend to simherd_tenant;
grant select on would_suspend to simherd_platform;

-- In which devices a SIM was seen one after another. The latest change stands beside the sighting.

alter table sim_sightings
  add column device_changes integer not null default 0,    -- how many there were
  add column device_changed_at timestamptz;                -- when the latest was recorded

create table device_changes (
  tenant_id text not null default app_tenant(),
  sim_id bigint not null,
  n integer not null,                                      -- 1 for a SIM's first change
  imei text not null,                                      -- of the new device
  at timestamptz not null,                                 -- of the record that names it
  recorded_at timestamptz not null,
  primary key (tenant_id, sim_id, n)                       -- no reference: it would lock the SIM's row
);

alter table device_changes enable row level security;
alter table device_changes force row level security;
create policy own on device_changes to simherd_tenant using (tenant_id = app_tenant()) with check (tenant_id = app_tenant());
grant select, insert on device_changes to simherd_tenant;
