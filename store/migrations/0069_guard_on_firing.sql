-- The guard on firing: for how many subjects a rule begins to tell or to act in an hour before the rest is held.

alter table tenants
  add column alert_guard_least integer not null default 50 check (alert_guard_least >= 0),
  add column alert_guard_pct double precision not null default 2 check (alert_guard_pct >= 0 and alert_guard_pct <= 100);

-- A hold of alerts has rule_version 0: alerts go on whatever the version. So processes of the release before, which ask
-- for holds by version, never find one.
alter table guard_holds
  add column what text not null default 'suspensions' check (what in ('suspensions', 'alerts')),
  add column subjects integer;                             -- of alerts: held so far; once decided, those decided about

-- What the guard lets through, by the minute in which it did. Rows older than an hour are deleted by the next.
create table guard_counts (
  tenant_id text not null default app_tenant(),
  what text not null check (what in ('alerts', 'would')),  -- would: suspensions that are only logged
  rule text not null,
  rule_version integer not null,                           -- 0 for alerts
  pool_id integer not null,                                -- 0: the whole tenant
  minute timestamptz not null,
  passed integer not null,
  primary key (tenant_id, what, rule, rule_version, pool_id, minute)
);

alter table guard_counts enable row level security;
alter table guard_counts force row level security;
create policy own on guard_counts to simherd_tenant using (tenant_id = app_tenant()) with check (tenant_id = app_tenant());
grant select, insert, update, delete on guard_counts to simherd_tenant;
