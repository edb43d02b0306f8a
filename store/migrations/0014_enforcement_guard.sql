-- The guard on suspensions: what rules were permitted, what is held because it was too much at once, and the settings.

alter table tenants
  add column guard_least integer not null default 20 check (guard_least >= 0),
  add column guard_pct double precision not null default 5 check (guard_pct >= 0 and guard_pct <= 100);

-- A fuse that has blown: it waits for a person, and lapses with its cycle.
create table guard_holds (
  id bigint generated always as identity primary key,
  tenant_id text not null default app_tenant(),
  rule text not null,
  rule_version integer not null,
  pool_id integer,                                         -- null: the whole tenant
  cycle_key text not null,
  cycle_ends_at timestamptz not null,
  suspended integer not null,                              -- permitted in the hour before it opened
  allowed integer not null,                                -- how many the settings let through then
  state text not null default 'held' check (state in ('held', 'released', 'discarded')),
  opened_at timestamptz not null,
  decided_at timestamptz,
  decided_by text                                          -- the API key
);
create unique index guard_holds_open on guard_holds (tenant_id, rule, rule_version, cycle_key, coalesce(pool_id, 0))
  where state = 'held';

-- A rule's ask to suspend a SIM, and its answer: for as long as the alert that asks.
create table guard_permits (
  id bigint generated always as identity primary key,
  tenant_id text not null default app_tenant(),
  rule text not null,
  rule_version integer not null,
  pool_id integer,                                         -- of a pool's rule: counted in its pool
  cycle_key text not null,
  sim_id bigint not null,
  workflow_id text not null,                               -- who asked last, and hears of the decision
  state text not null check (state in ('granted', 'held', 'discarded')),
  hold_id bigint references guard_holds,                   -- the hold that decides about it, or has
  counts boolean not null,                                 -- in the sliding hour; a release begins it anew
  at timestamptz not null,
  over_at timestamptz                                      -- the alert has cleared or stands down: the next one asks anew
);
create unique index guard_permits_open on guard_permits (tenant_id, sim_id, rule, cycle_key, rule_version)
  where over_at is null;
create index guard_permits_pool on guard_permits (tenant_id, pool_id, rule) where over_at is null and pool_id is not null;
create index guard_permits_rule on guard_permits (tenant_id, rule, sim_id) where over_at is null;
create index guard_permits_count on guard_permits (tenant_id, rule, rule_version, at) where counts;
create index guard_permits_hold on guard_permits (hold_id) where hold_id is not null;

do $$
declare t text;
begin
  foreach t in array array['guard_holds', 'guard_permits'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy own on %I to simherd_tenant using (tenant_id = app_tenant()) with check (tenant_id = app_tenant())', t);
    execute format('grant select, insert, update on %I to simherd_tenant', t);
  end loop;
end $$;

-- What one rule suspended, for its undoing.
create index suspensions_rule on suspensions (tenant_id, rule, sim_id) where closed_at is null and cause = 'watchdog';
