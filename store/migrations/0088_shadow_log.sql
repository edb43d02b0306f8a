-- What rules in stage shadow would have logged, mailed and suspended: for the operator alone, and kept for a while.

create table shadow_log (
  id bigint generated always as identity,
  tenant_id text not null default app_tenant() references tenants (id),
  dedupe_key text not null,                                -- of the telling
  does text not null check (does in ('log', 'mail', 'suspend')),
  rule text not null,
  rule_version integer not null,
  sim_id bigint,
  pool_id integer,
  level smallint not null check (level in (0, 1, 2)),      -- LogLevel
  message text not null,
  at timestamptz not null,
  cycle_key text not null,
  primary key (tenant_id, id),
  unique (tenant_id, dedupe_key, does)
);
create index shadow_log_tenant on shadow_log (tenant_id, at desc, id desc);
create index shadow_log_rule on shadow_log (tenant_id, rule, at desc, id desc);
create index shadow_log_at on shadow_log (at);

alter table shadow_log enable row level security;
alter table shadow_log force row level security;
create policy own on shadow_log to simherd_tenant using (tenant_id = app_tenant()) with check (tenant_id = app_tenant());
create policy all_tenants on shadow_log to simherd_platform using (true);
grant select, insert on shadow_log to simherd_tenant;
grant select (tenant_id, id, at), delete on shadow_log to simherd_platform;
