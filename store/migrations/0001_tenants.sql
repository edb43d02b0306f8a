-- Tenants, API keys and the two roles under which every statement runs.
--
-- simherd_tenant   a tenant's work: sees the rows of the tenant named by the setting app.tenant
-- simherd_platform the few cross-tenant tables: tenants, keys, platform tariffs, work lists, outbox
--
-- Neither can log in. The application's login role is granted both and takes one on in each
-- transaction (store/tenancy.ts). Row-level security is forced, so that owners are bound too.

do $$
begin
  create role simherd_tenant nologin;
exception when duplicate_object then null;
end $$;

do $$
begin
  create role simherd_platform nologin;
exception when duplicate_object then null;
end $$;

do $$
begin
  execute format('grant simherd_tenant, simherd_platform to %I', current_user);
exception when invalid_grant_operation then null;
end $$;

grant usage on schema public to simherd_tenant, simherd_platform;

-- The tenant of this transaction; null where none is set, and then no row is seen.
create function app_tenant() returns text language sql stable
  return nullif(current_setting('app.tenant', true), '');

create table tenants (
  id text primary key,
  name text not null,
  billing_email text not null,
  billing_cycle text not null,
  enforcement_enabled boolean not null default true,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null
);

create table api_keys (
  id text primary key,
  tenant_id text references tenants,
  name text not null,
  scopes text[] not null,
  secret_hash bytea not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz
);
create index api_keys_tenant on api_keys (tenant_id, created_at);

-- One row a (tenant, Idempotency-Key): what the first request was and what it was answered.
create table idempotency_keys (
  tenant_id text not null default app_tenant(),
  key text not null,
  fingerprint text not null,
  status smallint not null,
  body jsonb,
  created_at timestamptz not null,
  primary key (tenant_id, key)
);
create index idempotency_keys_age on idempotency_keys (created_at);

alter table tenants enable row level security;
alter table tenants force row level security;
alter table api_keys enable row level security;
alter table api_keys force row level security;
alter table idempotency_keys enable row level security;
alter table idempotency_keys force row level security;

create policy own on tenants to simherd_tenant using (id = app_tenant()) with check (id = app_tenant());
create policy all_tenants on tenants to simherd_platform using (true) with check (true);
create policy all_keys on api_keys to simherd_platform using (true) with check (true);
create policy own on idempotency_keys to simherd_tenant
  using (tenant_id = app_tenant()) with check (tenant_id = app_tenant());
create policy all_tenants on idempotency_keys to simherd_platform using (true) with check (true);

grant select, update on tenants to simherd_tenant;
grant select, insert, update on tenants to simherd_platform;
grant select, insert, update on api_keys to simherd_platform;
grant select, insert, delete on idempotency_keys to simherd_tenant, simherd_platform;
