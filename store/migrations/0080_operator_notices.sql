-- What the operator of the installation is told: notices, and the mails that carry them.

create table operator_mails (
  id text primary key,                                     -- Message-ID, the same for every attempt
  subject text not null,
  text text not null,
  html text not null,
  status text not null default 'pending' check (status in ('pending', 'sent', 'failed')),
  attempts integer not null default 0,
  next_attempt_at timestamptz not null,
  tried_since timestamptz,                                 -- when the server first said: later
  refused_at timestamptz,                                  -- when the server first refused the address
  response text,
  created_at timestamptz not null,
  sent_at timestamptz
);
create index operator_mails_created on operator_mails (created_at);
create index operator_mails_pending on operator_mails (created_at) where status = 'pending';

create table operator_notices (
  id bigint generated always as identity primary key,
  tenant_id text default app_tenant() references tenants (id), -- null: about the installation
  key text not null,                                       -- what it is told once for
  body jsonb not null,
  count integer not null default 1,                        -- how often it came about
  due_at timestamptz not null,
  mail_id text references operator_mails (id),             -- null: not in a mail yet
  created_at timestamptz not null,
  last_at timestamptz not null,                            -- when it came about last
  constraint operator_notices_key unique nulls not distinct (tenant_id, key)
);
create index operator_notices_waiting on operator_notices (due_at) where mail_id is null;
create index operator_notices_mail on operator_notices (mail_id);
create index operator_notices_created on operator_notices (created_at);
create index operator_notices_refused on operator_notices (last_at) where body ->> 'kind' = 'addressRefused';

alter table operator_notices enable row level security;
alter table operator_notices force row level security;
create policy own on operator_notices to simherd_tenant
  using (tenant_id = app_tenant()) with check (tenant_id = app_tenant());
create policy all_tenants on operator_notices to simherd_platform using (true) with check (true);
grant select, insert, update on operator_notices to simherd_tenant;
grant select, insert, update, delete on operator_notices to simherd_platform;
grant select, insert, update, delete on operator_mails to simherd_platform;
