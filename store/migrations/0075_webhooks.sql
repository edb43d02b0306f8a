-- Webhooks: a tenant's endpoints, the events that are told to them, and the delivery of each event to each endpoint.
--
-- The deliveries are their own work list: the platform reads whose are due, and nothing of what they say.

create table webhooks (
  id integer generated always as identity primary key,
  tenant_id text not null default app_tenant() references tenants (id),
  url text not null,
  description text not null,
  events text[],                                           -- null: all, also those of later releases
  secret text not null,                                    -- sealed with WEBHOOK_SECRETS_KEY; whsec_… where there is no key
  previous_secret text,                                    -- signs too, until previous_until
  previous_until timestamptz,
  failures integer not null default 0,                     -- attempts in a row that found it away
  paused_until timestamptz,                                -- no attempt before
  warned_at timestamptz,                                   -- when an event last said that it takes nothing
  disabled_at timestamptz,
  disabled_why text,
  created_at timestamptz not null,
  created_by text,                                         -- actor of the audit trail; null: the service
  unique (tenant_id, id)
);

create table webhook_events (
  tenant_id text not null default app_tenant() references tenants (id),
  id text not null,                                        -- the header webhook-id
  type text not null,
  body text not null,                                      -- the bytes that are signed
  at timestamptz not null,
  primary key (tenant_id, id)
);
create index webhook_events_at on webhook_events (at);

create table webhook_deliveries (
  id bigint generated always as identity primary key,
  tenant_id text not null default app_tenant() references tenants (id),
  webhook_id integer not null,
  event_id text not null,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'failed')),
  attempts integer not null default 0,
  tried_from timestamptz not null,                         -- when it was written, or replayed last: it is tried for three days
  next_attempt_at timestamptz not null,
  answer integer,                                          -- HTTP status of the last attempt; null: none came
  response text,                                           -- beginning of the last answer, or why none came
  ended_at timestamptz,
  foreign key (tenant_id, webhook_id) references webhooks (tenant_id, id) on delete cascade,
  foreign key (tenant_id, event_id) references webhook_events (tenant_id, id) on delete cascade
);
create index webhook_deliveries_due on webhook_deliveries (tenant_id, webhook_id, next_attempt_at) where status = 'pending';
create index webhook_deliveries_webhook on webhook_deliveries (tenant_id, webhook_id, id desc);
create index webhook_deliveries_event on webhook_deliveries (tenant_id, event_id);

alter table webhooks enable row level security;
alter table webhooks force row level security;
alter table webhook_events enable row level security;
alter table webhook_events force row level security;
alter table webhook_deliveries enable row level security;
alter table webhook_deliveries force row level security;

create policy own on webhooks to simherd_tenant using (tenant_id = app_tenant()) with check (tenant_id = app_tenant());
create policy own on webhook_events to simherd_tenant
  using (tenant_id = app_tenant()) with check (tenant_id = app_tenant());
create policy own on webhook_deliveries to simherd_tenant
  using (tenant_id = app_tenant()) with check (tenant_id = app_tenant());
create policy all_tenants on webhooks to simherd_platform using (true);
create policy all_tenants on webhook_events to simherd_platform using (true);
create policy all_tenants on webhook_deliveries to simherd_platform using (true);

grant select, insert, update, delete on webhooks to simherd_tenant;
grant select, insert on webhook_events to simherd_tenant;
grant select, insert, update on webhook_deliveries to simherd_tenant;
grant select (tenant_id, id, paused_until, disabled_at) on webhooks to simherd_platform;
grant select (tenant_id, webhook_id, event_id, status, tried_from, next_attempt_at) on webhook_deliveries to simherd_platform;
grant select (tenant_id, id, at), delete on webhook_events to simherd_platform;
