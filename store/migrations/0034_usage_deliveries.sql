-- Deliveries of usage: who sent what, when, and what was made of it. A row each; records name the one they came with.

create table usage_deliveries (
  id bigint generated always as identity primary key,
  tenant_id text not null default app_tenant() references tenants,
  began_at timestamptz not null,
  ended_at timestamptz,                                    -- null: under way, or its process was killed
  actor text not null,                                     -- as in audit_log
  key_id text,
  request_id text not null,
  outcome text check (outcome in ('complete', 'broken')),  -- broken: not read to its end; what was counted stays
  accepted bigint not null default 0,
  duplicates bigint not null default 0,
  rejected bigint not null default 0,
  bytes bigint not null default 0,                         -- that came, as they came
  sha256 text                                              -- of these bytes
);
create index usage_deliveries_tenant on usage_deliveries (tenant_id, id desc);

alter table usage_deliveries enable row level security;
alter table usage_deliveries force row level security;
create policy own on usage_deliveries to simherd_tenant
  using (tenant_id = app_tenant()) with check (tenant_id = app_tenant());
grant select, insert on usage_deliveries to simherd_tenant;
grant update (ended_at, outcome, accepted, duplicates, rejected, bytes, sha256) on usage_deliveries to simherd_tenant;

alter table usage_records add column delivery_id bigint;   -- null: of before, or of no delivery
