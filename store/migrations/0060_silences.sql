-- Silences: notices of alerts that a person does not want mailed for a while. Entries of the log and suspensions go on.

create table silences (
  id integer generated always as identity primary key,
  tenant_id text not null default app_tenant() references tenants (id),
  rule text,                                               -- a pattern with *; null: any. So are the next four
  sim_id bigint,
  pool_id integer,                                         -- the pool and its SIMs
  tag text,                                                -- a pattern with *
  level smallint check (level in (0, 1, 2)),               -- LogLevel
  reason text not null,
  created_at timestamptz not null,
  created_by text,                                         -- actor of the audit trail; null: the service
  ends_at timestamptz not null,
  ended_at timestamptz,                                    -- by a person, before ends_at
  ended_by text
);
create index silences_tenant on silences (tenant_id, id desc);
create index silences_open on silences (tenant_id, ends_at) where ended_at is null;

alter table silences enable row level security;
alter table silences force row level security;
create policy own on silences to simherd_tenant using (tenant_id = app_tenant()) with check (tenant_id = app_tenant());
grant select, insert, update on silences to simherd_tenant;
