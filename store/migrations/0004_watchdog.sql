-- Rule sets, alerts, the watchdog log, notifications and what is to happen after commit.

-- Immutable versions of the rule set; at most one is in force.
create table rule_sets (
  version integer generated always as identity primary key,
  hash text not null unique,
  rules jsonb not null,                                    -- [{name, file, text}] as loaded
  author text not null,
  created_at timestamptz not null,
  activated_at timestamptz,
  active boolean not null default false
);
create unique index rule_sets_active on rule_sets (active) where active;

-- State of each alert: rule and subject, by scope (the cycle's key for cycle-bound rules, else '').
create table alerts (
  tenant_id text not null default app_tenant(),
  rule text not null,
  subject_kind smallint not null check (subject_kind in (1, 2, 3)),
  subject_id bigint not null,
  scope text not null,
  state jsonb not null,                                    -- rules/alerts.ts: AlertState
  firing boolean not null,
  asked text,                                              -- the last signal that enforcement sent for it
  asked_at timestamptz,
  rule_version integer not null,
  evaluated_at timestamptz not null,                       -- watermark: an older evaluation never overwrites
  explanation jsonb,
  primary key (tenant_id, rule, subject_kind, subject_id, scope)
);
create index alerts_subject on alerts (tenant_id, subject_kind, subject_id);

create table watchdog_log (
  id bigint generated always as identity primary key,
  tenant_id text not null default app_tenant(),
  dedupe_key text not null,                                -- alert key and kind: an entry is written once
  rule text,
  rule_version integer,
  sim_id bigint,
  pool_id integer,
  level smallint not null check (level in (0, 1, 2)),      -- LogLevel
  message text not null,
  at timestamptz not null,
  cycle_key text,
  explanation jsonb,
  unique (tenant_id, dedupe_key)
);
create index watchdog_log_tenant on watchdog_log (tenant_id, at desc, id desc);
create index watchdog_log_sim on watchdog_log (tenant_id, sim_id, at desc, id desc);
create index watchdog_log_pool on watchdog_log (tenant_id, pool_id, at desc, id desc);

-- What is to be told: one row an (alert key, kind), written with the log entry.
create table notifications (
  id bigint generated always as identity primary key,
  tenant_id text not null default app_tenant(),
  dedupe_key text not null,
  level smallint not null check (level in (0, 1, 2)),      -- LogLevel
  body jsonb not null,                                     -- notify/notification.ts: Notification
  due_at timestamptz not null,
  mail_id text,                                            -- the mail it leaves with, fixed before SMTP
  created_at timestamptz not null,
  unique (tenant_id, dedupe_key)
);
create index notifications_waiting on notifications (tenant_id, due_at) where mail_id is null;

-- Mails: rows and Message-ID fixed at the claim; one record a delivery.
create table mails (
  id text primary key,                                     -- the Message-ID
  tenant_id text not null default app_tenant(),
  recipient text not null,
  status text not null default 'pending' check (status in ('pending', 'sent', 'failed')),
  grouped boolean not null,                                -- a digest: the next one keeps its distance
  subject text not null default '',
  attempts integer not null default 0,
  next_attempt_at timestamptz not null,
  response text,
  created_at timestamptz not null,
  sent_at timestamptz
);
create index mails_tenant on mails (tenant_id, created_at desc);
create index notifications_mail on notifications (mail_id);

-- Work list: tenants with notifications to group or mails to send.
create table mail_work (
  tenant_id text primary key default app_tenant(),
  due_at timestamptz not null
);
create index mail_work_due on mail_work (due_at);

-- Starts and signals of workflows, done after commit.
create table workflow_outbox (
  id bigint generated always as identity primary key,
  tenant_id text not null default app_tenant(),
  workflow_id text not null,                               -- requests to one workflow are done in their order
  request jsonb not null,                                  -- domain/lifecycle.ts: WorkflowRequest
  due_at timestamptz not null,
  attempts integer not null default 0,
  created_at timestamptz not null,
  done_at timestamptz
);
create index workflow_outbox_order on workflow_outbox (workflow_id, id) where done_at is null;
create index workflow_outbox_due on workflow_outbox (due_at) where done_at is null;

-- Workflows that run once for all, remembered longer than Temporal does.
create table workflow_starts (
  tenant_id text not null default app_tenant(),
  workflow_id text not null,
  started_at timestamptz not null,
  held boolean not null default false,                     -- a person has ended it: not again this cycle
  primary key (tenant_id, workflow_id)
);

-- Frozen figures of a closed cycle. Pool 0: SIMs outside pools. SIM null: the pool's own line.
create table statements (
  id bigint generated always as identity primary key,
  tenant_id text not null default app_tenant(),
  cycle_key text not null,
  pool_id integer not null,
  pool_name text not null,
  sim_id bigint,
  iccid text,
  kind text not null check (kind in ('sim', 'pool', 'empty')),
  tariff_id integer,
  bytes bigint not null,
  voice_seconds bigint not null,
  sms_count bigint not null,
  limit_bytes bigint not null,
  overage_bytes bigint not null,
  fee_micro bigint not null,                               -- monthly fee of a SIM; cost of a Fixed pool's bucket
  sms_micro bigint not null,
  voice_micro bigint not null,
  overage_micro bigint not null
);
create index statements_cycle on statements (tenant_id, cycle_key, pool_id, sim_id);

do $$
declare t text;
begin
  foreach t in array array['alerts', 'watchdog_log', 'notifications', 'mails', 'mail_work', 'workflow_outbox', 'workflow_starts', 'statements'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy own on %I to simherd_tenant using (tenant_id = app_tenant()) with check (tenant_id = app_tenant())', t);
    execute format('grant select, insert, update, delete on %I to simherd_tenant', t);
  end loop;
end $$;
revoke update, delete on statements, watchdog_log from simherd_tenant;
create policy all_tenants on mail_work to simherd_platform using (true);
create policy all_tenants on workflow_outbox to simherd_platform using (true) with check (true);
grant select on mail_work to simherd_platform;
grant select, update on workflow_outbox to simherd_platform;

alter table rule_sets enable row level security;
alter table rule_sets force row level security;
create policy readable on rule_sets for select to simherd_tenant using (true);
create policy all_sets on rule_sets to simherd_platform using (true) with check (true);
grant select on rule_sets to simherd_tenant;
grant select, insert, update on rule_sets to simherd_platform;
