-- The schema of the first release, for an empty database.
--
-- simherd_tenant   a tenant's work: sees the rows of the tenant named by the setting app.tenant
-- simherd_platform the few tables of all tenants: tenants, keys, platform tariffs, work lists, outbox
-- simherd_search   owns the functions that search SIMs and pools by index
--
-- None of them can log in. The login that runs the service is granted the first two, and takes one on in each transaction
-- (store/tenancy.ts). It has none of their rights otherwise, so a statement outside of store/tenancy.ts sees no row.
-- PostgreSQL 15 has no such grant: there the login is NOINHERIT.

create extension if not exists pg_trgm;

do $$
declare name text;
begin
  foreach name in array array['simherd_tenant', 'simherd_platform', 'simherd_search'] loop
    begin
      if to_regrole(name) is null then
        execute format('create role %I nologin', name);
      end if;
    -- Made at the same moment by the migrator of another database of the server.
    exception when duplicate_object then null;
    end;
    begin
      execute format('grant %I to %I', name, current_user);
      if current_setting('server_version_num')::integer >= 160000 then
        execute format('grant %I to %I with inherit false', name, current_user);
      end if;
    exception when invalid_grant_operation then null;
    end;
  end loop;
exception when insufficient_privilege then
  raise exception using message = format(
    '%1$s may not make the role %2$s, or take it on: as a superuser, run "create role %2$s nologin" where there is none, '
    'then "grant %2$s to %1$s with admin true, inherit false", and migrate again', current_user, name);
end $$;

grant usage on schema public to simherd_tenant, simherd_platform, simherd_search;
-- A login that owns nothing sees which migrations have run.
grant select on kysely_migration to public;

-- === Functions that tables need ===

-- The tenant of this transaction; null where none is set, and then no row is seen.
create function app_tenant() returns text language sql stable
  return nullif(current_setting('app.tenant', true), '');

-- Tells the processes that know keys and tenants that one of them has changed or gone: `key <id>`, `tenant <id>`.
create function notify_caller_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('simherd_callers', tg_argv[0] || ' ' || old.id);
  return null;
end $$;

-- Counts the SIMs of pools after a statement: one update a pool, by id, however many SIMs have moved. So a batch of
-- SIMs makes one version of its pool's row, and two batches lock their pools in one order.
create function count_moved_sims() returns trigger language plpgsql as $$
declare d record;
begin
  for d in
    select pool_id, sum(active)::integer as active, sum(total)::integer as total
      from (select pool_id, case when status = 1 then -1 else 0 end, -1 from was
             union all
            select pool_id, case when status = 1 then 1 else 0 end, 1 from became) v(pool_id, active, total)
     where pool_id is not null
     group by pool_id
    having sum(active) <> 0 or sum(total) <> 0
     order by pool_id
  loop
    update pools
       set active_sim_count = active_sim_count + d.active, total_sim_count = total_sim_count + d.total
     where id = d.pool_id;
  end loop;
  return null;
end $$;

-- Counts a change of a SIM's status in sim_blocks, for writers that do not do it themselves. Runs at their commit.
create function count_sim_in_blocks() returns trigger language plpgsql as $$
begin
  insert into sim_blocks as b (tenant_id, block, status, sims)
  select v.tenant_id, v.id >> 12, v.status, sum(v.sims)
    from (values (old.tenant_id, old.id, old.status, -1), (new.tenant_id, new.id, new.status, 1)) v(tenant_id, id, status, sims)
   where v.id is not null
   group by 1, 2, 3
  having sum(v.sims) <> 0
   order by 1, 2, 3
  on conflict (tenant_id, block, status) do update set sims = b.sims + excluded.sims;
  return null;
end $$;

-- === Tenants, their keys, and who changed what ===

create table tenants (
  id text primary key,
  name text not null,
  billing_email text not null,
  billing_cycle text not null,
  currency text not null check (currency ~ '^[A-Z]{3}$'), -- ISO 4217: of its charges
  enforcement_enabled boolean not null default true,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  guard_least integer not null default 20 check (guard_least >= 0),
  guard_pct double precision not null default 5 check (guard_pct between 0 and 100),
  time_zone text not null default 'UTC',                    -- IANA name: instants in mails
  feed_every text not null default 'P1D',                   -- ISO 8601: how often usage is received
  escalate_after text,                                      -- ISO 8601: an unacknowledged Critical is escalated; null:
                                                            -- never
  alert_guard_least integer not null default 50 check (alert_guard_least >= 0),
  alert_guard_pct double precision not null default 2 check (alert_guard_pct between 0 and 100),
  mails_from smallint not null default 0 check (mails_from in (0, 1, 2)), -- LogLevel: alerts below it are not mailed
  rules_heard bigint not null default 0                     -- id of the newest of rule_spreads that it has taken
);
create trigger tenants_told after delete or update of id on tenants
  for each row execute function notify_caller_change('tenant');
create index tenants_billing_email on tenants (lower(billing_email));
create policy all_tenants on tenants to simherd_platform using (true) with check (true);
create policy own on tenants to simherd_tenant using (id = app_tenant()) with check (id = app_tenant());
grant insert, select, update on tenants to simherd_platform;
grant select, update on tenants to simherd_tenant;

create table api_keys (
  id text primary key,
  tenant_id text references tenants (id),
  name text not null,
  scopes text[] not null,
  secret_hash bytea not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  replaced_by text references api_keys (id),
  contact text                                              -- e-mail address: the key of a person who signs in by mail,
                                                            -- with an unknown secret; null: of a program
);
create index api_keys_tenant on api_keys (tenant_id, created_at);
create unique index api_keys_contact on api_keys (tenant_id, lower(contact))
  where contact is not null and revoked_at is null and replaced_by is null;
create trigger api_keys_told after delete or update of id, tenant_id, scopes, secret_hash, expires_at, revoked_at on api_keys
  for each row execute function notify_caller_change('key');
create policy all_keys on api_keys to simherd_platform using (true) with check (true);
create policy named on api_keys for select to simherd_tenant
  using (case when tenant_id = (select app_tenant()) or tenant_id is null then true end);
grant insert, select, update on api_keys to simherd_platform;
grant select (id, name, tenant_id) on api_keys to simherd_tenant;

-- One row a browser that is signed in to the console, or a link that signs one in. Its cookie or the link has the token.
create table sessions (
  token_hash bytea primary key,                             -- SHA-256 of the token
  key_id text not null references api_keys (id),            -- acts with the rights of this key, and ends with it
  created_at timestamptz not null,
  seen_at timestamptz not null,                             -- to the minute
  expires_at timestamptz not null,                          -- moves with seen_at: domain/tenants/session.ts
  user_agent text not null,
  is_link boolean not null                                  -- not begun: the token is that of a link that signs in once
);
create index sessions_key on sessions (key_id);
create index sessions_end on sessions (expires_at);
create policy all_sessions on sessions to simherd_platform using (true) with check (true);
grant delete, insert, select, update on sessions to simherd_platform;

-- Mails that sign in a contact, one row each. Link and code are computed from the id: domain/tenants/sign-in-mail.ts.
create table sign_in_mails (
  id bigint generated always as identity primary key,
  key_id text not null references api_keys (id),            -- of the contact
  browser_hash bytea not null,                              -- SHA-256 of a cookie of the browser that asked
  console_url text not null,
  next text not null,                                       -- path of the console to go on to
  created_at timestamptz not null,
  used_at timestamptz,
  wrong_codes integer not null default 0,
  status text not null default 'pending' check (status in ('pending', 'sent', 'failed')),
  attempts integer not null default 0,
  next_attempt_at timestamptz not null,
  tried_since timestamptz,                                  -- when the server first said: later
  refused_at timestamptz,                                   -- when the server first refused the address
  response text
);
create index sign_in_mails_key on sign_in_mails (key_id, created_at);
create index sign_in_mails_age on sign_in_mails (created_at);
create index sign_in_mails_pending on sign_in_mails (next_attempt_at) where status = 'pending';
create policy all_mails on sign_in_mails to simherd_platform using (true) with check (true);
grant delete, insert, select, update on sign_in_mails to simherd_platform;

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
create policy all_tenants on idempotency_keys to simherd_platform using (true) with check (true);
grant delete, insert, select on idempotency_keys to simherd_platform;
grant delete, insert, select on idempotency_keys to simherd_tenant;

-- Who changed what on whose behalf, when, from what to what. Written in the transaction of the change; never changed.
create table audit_log (
  id bigint generated always as identity primary key,
  tenant_id text,                                           -- null: the platform's own keys, tariffs, prices, tenants
  at timestamptz not null,
  key_id text,                                              -- the API key it came with
  request_id text not null,
  action text not null,                                     -- operation of the interface: operationId
  subject text not null,                                    -- store/audit.ts: AuditSubject
  subject_id text not null,
  before jsonb,                                             -- what changed, as it was; null: it was not there
  after jsonb,                                              -- as it is; null: it is gone
  workflow_id text,                                         -- null: no workflow; the key's holder himself
  actor text not null                                       -- key:<id>, service:<process>, …
);
create index audit_log_subject on audit_log (tenant_id, subject, subject_id, id desc);
create index audit_log_tenant on audit_log (tenant_id, id desc);
create index audit_log_workflow on audit_log (tenant_id, workflow_id, id desc) where workflow_id is not null;
create policy own_read on audit_log for select to simherd_platform using (tenant_id is null);
create policy written_of_all on audit_log for insert to simherd_platform with check (true);
grant insert, select on audit_log to simherd_platform;
grant insert, select on audit_log to simherd_tenant;

-- Processes of the service that are at work, and the newest migration each of them knows: what an older one needs is
-- not taken away under it (`simherd migrate --contract`).
create table processes (
  id text primary key,                                      -- made when it starts
  kind text not null check (kind in ('api', 'worker')),
  host text not null,
  pid integer not null,
  newest_migration text not null,
  started_at timestamptz not null,
  seen_at timestamptz not null                              -- every ten seconds; a process that was killed stays as it
                                                            -- was last seen
);
grant delete, insert, select, update on processes to simherd_platform;

-- === Tariffs, pools and orders ===

-- Tariffs, pools, SIMs, what each SIM belonged to and when, and tickets.
create table tariffs (
  id integer generated always as identity primary key,
  tenant_id text references tenants (id),                   -- null: the platform's, offered to every tenant
  display_name text not null,
  description text not null,
  is_active boolean not null default true,
  type smallint not null check (type in (0, 1, 2)),         -- TariffType
  allowance_bytes bigint not null check (allowance_bytes >= 0), -- per SIM (Standard, Dynamic), or the whole capacity
                                                                -- (Fixed)
  sim_monthly_fee bigint not null,                          -- all fees in micro-units of the currency
  fixed_bucket_cost bigint not null default 0,
  sms_fee bigint not null,
  voice_fee bigint not null,                                -- per minute
  overage_fee_per_gb bigint not null,
  created_at timestamptz not null,
  version integer not null default 1
);
create index tariffs_tenant on tariffs (tenant_id, id);
create policy own on tariffs for insert to simherd_tenant with check (tenant_id = app_tenant());
create policy own_offer on tariffs for update to simherd_tenant
  using (case when tenant_id = (select app_tenant()) then true end) with check (tenant_id = app_tenant());
create policy platform on tariffs to simherd_platform using (tenant_id is null) with check (tenant_id is null);
create policy readable on tariffs for select to simherd_tenant
  using (case when tenant_id = (select app_tenant()) or tenant_id is null then true end);
grant insert, select on tariffs to simherd_platform;
grant insert, select on tariffs to simherd_tenant;
grant update (is_active, version) on tariffs to simherd_platform;
grant update (is_active, version) on tariffs to simherd_tenant;

create table pools (
  id integer generated always as identity primary key,
  tenant_id text not null default app_tenant() references tenants (id),
  name text not null,
  type smallint not null check (type in (0, 1)),            -- PoolType
  tariff_id integer not null references tariffs (id),
  watchdog_mode smallint not null check (watchdog_mode in (0, 1, 2)), -- WatchdogMode
  warning_threshold_pct smallint check (warning_threshold_pct between 1 and 100),
  enable_burn_rate_alerts boolean,
  status smallint not null default 1 check (status in (0, 1)), -- PoolStatus
  active_sim_count integer not null default 0,              -- kept by the trigger on sims
  total_sim_count integer not null default 0,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  activated_at timestamptz not null,
  deleted_at timestamptz
);
create index pools_name on pools (tenant_id, lower(name) text_pattern_ops) where deleted_at is null;
create unique index pools_tenant_id on pools (tenant_id, id);
create policy search on pools for select to simherd_search using (true);
grant delete, insert, select, update on pools to simherd_tenant;
grant select (deleted_at, id, name, tenant_id) on pools to simherd_search;

-- Orders of SIMs, what a unit costs, and which order a SIM came with.
create table orders (
  id integer generated always as identity primary key,
  tenant_id text not null default app_tenant() references tenants (id),
  type smallint not null check (type in (1, 2)),            -- OrderType
  quantity integer not null check (quantity between 1 and 10000),
  unit_price bigint not null check (unit_price >= 0),       -- micro-units of the currency, fixed when it was made
  total bigint not null,
  status text not null default 'Pending'
    check (status in ('Pending', 'Processing', 'Shipped', 'Delivered', 'Completed', 'Cancelled', 'Failed')),
  payment_invoice_id text,
  payment_receipt_url text,
  shipping_company text,
  shipping_line1 text,
  shipping_line2 text,
  shipping_city text,
  shipping_country text,
  shipping_postcode text,
  shipping_extra_info text,
  tracking_number text,
  shipping_carrier text,
  failure_reason text,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check (total = quantity * unit_price)
);
create index orders_tenant on orders (tenant_id, created_at desc, id desc);
create unique index orders_tenant_id on orders (tenant_id, id);
grant insert, select, update on orders to simherd_tenant;

-- Numbers behind the prefix of made ICCIDs. Taken by transactions that may be rolled back: it has gaps.
create sequence esim_accounts;
grant usage on sequence esim_accounts to simherd_tenant;

create table order_prices (
  tenant_id text references tenants (id),                   -- null: the platform's, where a tenant has none of its own
  type smallint not null check (type in (1, 2)),            -- OrderType
  price bigint not null check (price >= 0),                 -- micro-units of the currency
  updated_at timestamptz not null
);
create unique index order_prices_owner on order_prices (coalesce(tenant_id, ''), type);
create policy own_delete on order_prices for delete to simherd_tenant
  using (case when tenant_id = (select app_tenant()) then true end);
create policy own_insert on order_prices for insert to simherd_tenant with check (tenant_id = app_tenant());
create policy own_update on order_prices for update to simherd_tenant
  using (case when tenant_id = (select app_tenant()) then true end) with check (tenant_id = app_tenant());
create policy platform on order_prices to simherd_platform using (tenant_id is null) with check (tenant_id is null);
create policy readable on order_prices for select to simherd_tenant
  using (case when tenant_id = (select app_tenant()) or tenant_id is null then true end);
grant delete, insert, select, update on order_prices to simherd_platform;
grant delete, insert, select, update on order_prices to simherd_tenant;
insert into order_prices (tenant_id, type, price, updated_at)
  values (null, 1, 2500000, now()), (null, 2, 1000000, now());

-- === SIMs: what each belonged to and when, and how many there are ===

create table sims (
  id bigint generated always as identity primary key,
  tenant_id text not null default app_tenant() references tenants (id),
  iccid text not null unique,                               -- one line in the world: never two tenants'
  imsi text not null default '',
  msisdn text not null default '',
  imei text not null default '',
  tag text not null default '',
  type smallint not null check (type in (0, 1)),            -- SimType
  status smallint not null default 0 check (status in (0, 1, 2)), -- SimStatus
  status_since timestamptz not null,
  pool_id integer,
  tariff_id integer references tariffs (id),                -- the SIM's own
  provisioned_at timestamptz,
  esim_qr_payload text,
  pending_pool_id integer,
  pending_tariff_id integer references tariffs (id),
  pending_unassign boolean not null default false,
  pending_since timestamptz,
  watchdog_mode smallint check (watchdog_mode in (0, 1, 2)), -- WatchdogMode; null: the pool's
  warning_threshold_pct smallint check (warning_threshold_pct between 1 and 100), -- null: the pool's
  enable_burn_rate_alerts boolean,                          -- null: the pool's
  is_watchdog_exempt boolean not null default false,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  order_id integer,
  constraint sims_order_id_tenant foreign key (tenant_id, order_id) references orders (tenant_id, id),
  constraint sims_pending_pool_id_tenant foreign key (tenant_id, pending_pool_id) references pools (tenant_id, id),
  constraint sims_pool_id_tenant foreign key (tenant_id, pool_id) references pools (tenant_id, id)
) with (autovacuum_analyze_scale_factor=0.02, autovacuum_analyze_threshold=1000, fillfactor=80);
create index sims_imsi on sims (imsi) where imsi <> '';
create index sims_msisdn on sims (msisdn) where msisdn <> '';
create index sims_order on sims (order_id, id) where order_id is not null;
create index sims_pending on sims (tenant_id, id) where pending_since is not null;
create index sims_pool on sims (pool_id, id);
create index sims_search on sims using gin (lower(iccid || e'\n' || imsi || e'\n' || msisdn || e'\n' || tag) gin_trgm_ops);
create index sims_tag on sims (tenant_id, lower(tag) text_pattern_ops) where tag <> '';
create unique index sims_tenant_id on sims (tenant_id, id);
create trigger sims_counted after update on sims referencing old table as was new table as became
  for each statement execute function count_moved_sims();
create constraint trigger sims_in_blocks after insert or delete or update of status on sims deferrable initially deferred
  for each row
  when (current_setting('app.tallies', true) is distinct from 'on') execute function count_sim_in_blocks();
create policy search on sims for select to simherd_search using (true);
grant delete, insert, select, update on sims to simherd_tenant;
grant select (iccid, id, imsi, msisdn, pool_id, status, tag, tenant_id) on sims to simherd_search;

-- What a SIM belonged to: one open row (to_at null) for each provisioned SIM.
create table memberships (
  id bigint generated always as identity primary key,
  tenant_id text not null default app_tenant(),
  sim_id bigint not null,
  pool_id integer not null,                                 -- 0: outside a pool
  tariff_id integer,                                        -- the SIM's own
  from_at timestamptz not null,
  to_at timestamptz,
  constraint memberships_sim_id_tenant foreign key (tenant_id, sim_id) references sims (tenant_id, id)
) with (autovacuum_analyze_scale_factor=0.02, autovacuum_analyze_threshold=1000);
create unique index memberships_open on memberships (sim_id) where to_at is null;
create index memberships_sim on memberships (sim_id, from_at);
grant delete, insert, select, update on memberships to simherd_tenant;

-- When a SIM was Active: decides in which cycles and pools it contributes and pays.
create table active_spans (
  id bigint generated always as identity primary key,
  tenant_id text not null default app_tenant(),
  sim_id bigint not null,
  from_at timestamptz not null,
  to_at timestamptz,
  constraint active_spans_sim_id_tenant foreign key (tenant_id, sim_id) references sims (tenant_id, id)
) with (autovacuum_analyze_scale_factor=0.02, autovacuum_analyze_threshold=1000);
create index active_spans_longest on active_spans (tenant_id, from_at) where to_at is null;
create unique index active_spans_open on active_spans (sim_id) where to_at is null;
create index active_spans_sim on active_spans (sim_id, from_at);
grant delete, insert, select, update on active_spans to simherd_tenant;

-- How many SIMs there are, by 4,096 ids and status: lists know their totals and find their pages without counting.
-- Kept by the transactions themselves, which write them last (store/tally.ts) and set app.tallies. For SQL by hand, a
-- trigger counts at its commit. No reference to tenants: a new row would lock the tenant's, after all else.
create table sim_blocks (
  tenant_id text not null default app_tenant(),
  block bigint not null,                                    -- id >> 12
  status smallint not null check (status in (0, 1, 2)),     -- SimStatus
  sims integer not null,
  primary key (tenant_id, block, status)
) with (fillfactor=50);
create policy figures on sim_blocks for select to simherd_platform using (true);
grant insert, select, update on sim_blocks to simherd_tenant;
grant select (sims, status, tenant_id) on sim_blocks to simherd_platform;

-- When a SIM was last seen, and in which device: a narrow table, so that usage neither locks nor rewrites SIMs.
create table sim_sightings (
  tenant_id text not null default app_tenant(),
  sim_id bigint not null,
  last_seen_at timestamptz not null,
  imei text not null,                                       -- '' if no record named one
  imei_seen_at timestamptz,
  previous_imei text not null,                              -- the device before, '' if there was none
  device_changes integer not null default 0,                -- how many there were
  device_changed_at timestamptz,                            -- when the latest was recorded
  country text,                                             -- ISO 3166-1 alpha-2
  mcc_mnc text,
  rat text,
  place_seen_at timestamptz,                                -- of the newest record that names one of them
  country_changed_at timestamptz,                           -- when the latest change was recorded
  primary key (tenant_id, sim_id)
) with (fillfactor=70, autovacuum_analyze_scale_factor=0.02, autovacuum_analyze_threshold=1000);
grant insert, select, update on sim_sightings to simherd_tenant;

create table device_changes (
  tenant_id text not null default app_tenant(),
  sim_id bigint not null,
  n integer not null,                                       -- 1 for a SIM's first change
  imei text not null,                                       -- of the new device
  at timestamptz not null,                                  -- of the record that names it
  recorded_at timestamptz not null,
  primary key (tenant_id, sim_id, n)
);
grant insert, select on device_changes to simherd_tenant;

-- === Tickets ===

-- Bulk runs: one request for many SIMs, which it fixes. A worker opens their tickets in batches. Of a
-- provision-and-activate, called a batch, the workflow provision-in-bulk reads the SIMs and writes outcomes back.
create table bulk_runs (
  id uuid primary key,
  tenant_id text not null default app_tenant() references tenants (id),
  seq bigint generated always as identity not null,         -- order of acceptance: a tenant's runs are opened one by
                                                            -- one
  type text not null
    check (type in ('activate', 'suspend', 'refresh', 'send-sms', 'provision', 'unassign', 'provision-and-activate')),
  pool_id integer,                                          -- provision: the target
  tariff_id integer,
  tag text,                                                 -- provision: applied on completion
  message text,                                             -- Send SMS
  parallel integer check (parallel between 1 and 200),      -- batch: most SIMs under way at once
  state text not null default 'opened'                      -- a batch: always opened
    check (state in ('opening', 'opened', 'cancelling', 'cancelled')),
  created_at timestamptz not null,
  done_at timestamptz,                                      -- since then no SIM waits for its ticket, or the batch has ended
  total integer not null default 0,                         -- items
  waiting integer not null default 0,                       -- items whose tickets are not opened yet; a batch: 0
  refused integer not null default 0,
  check ((type = 'provision-and-activate') = (parallel is not null))
);
create index bulk_runs_open on bulk_runs (tenant_id, seq) where state in ('opening', 'cancelling');
create index bulk_runs_of_tickets on bulk_runs (tenant_id, seq desc) where type <> 'provision-and-activate';
create unique index bulk_runs_tenant_id on bulk_runs (tenant_id, id);
grant insert, select, update on bulk_runs to simherd_tenant;

create table tickets (
  id uuid primary key,
  tenant_id text not null default app_tenant(),
  seq bigint generated always as identity not null,         -- order of creation: FIFO within a SIM
  sim_id bigint not null,
  type smallint not null check (type in (0, 1, 2, 3, 4)),   -- TicketType
  status smallint not null default 0 check (status in (0, 1, 2, 3, 4)), -- TicketStatus
  created_at timestamptz not null,
  pool_id integer,                                          -- provisioning: the target
  tariff_id integer,
  unassign boolean not null default false,
  tag text,                                                 -- provisioning: applied on completion
  message text,                                             -- Send SMS
  cause jsonb not null,                                     -- who asked: domain/tickets/ticket.ts
  effective_at timestamptz,                                 -- changes at a cycle boundary: the boundary
  attempts integer not null default 0,
  next_attempt_at timestamptz not null,
  lease_until timestamptz,                                  -- Processing: after this another worker may take over
  failure_code text,
  failure_text text,
  finished_at timestamptz,
  bulk_id uuid,
  failure_detail text,
  counts boolean not null default false,
  withdrawn_by text,                                        -- the workflow; null: a person, or it was not taken back
  constraint tickets_bulk_id_tenant foreign key (tenant_id, bulk_id) references bulk_runs (tenant_id, id),
  constraint tickets_sim_id_tenant foreign key (tenant_id, sim_id) references sims (tenant_id, id)
) with (autovacuum_analyze_scale_factor=0.02, autovacuum_analyze_threshold=1000);
create unique index tickets_bulk on tickets (bulk_id, sim_id) where bulk_id is not null;
create index tickets_bulk_status on tickets (bulk_id, status) where bulk_id is not null;
create index tickets_counted on tickets (tenant_id) where (counts and (status in (0, 1)));
create index tickets_ended on tickets (tenant_id, finished_at) INCLUDE (status) where status in (2, 3);
create index tickets_listed on tickets (tenant_id, status, seq) where status <> 2;
create index tickets_of_sim on tickets (sim_id, seq);
create index tickets_open on tickets (sim_id, seq) where status in (0, 1);
create index tickets_tenant on tickets (tenant_id, seq desc);
grant delete, insert, select, update on tickets to simherd_tenant;

-- Work list: SIMs with open tickets. The queue's job only rings the bell.
create table ticket_work (
  tenant_id text not null default app_tenant(),
  sim_id bigint not null,
  due_at timestamptz not null,
  primary key (tenant_id, sim_id)
);
create index ticket_work_due on ticket_work (due_at);
create index ticket_work_of_tenant on ticket_work (tenant_id, due_at, sim_id);
create policy all_tenants on ticket_work to simherd_platform using (true) with check (true);
grant delete, insert, select, update on ticket_work to simherd_tenant;
grant select, update on ticket_work to simherd_platform;

create table bulk_items (
  tenant_id text not null default app_tenant(),
  bulk_id uuid not null,
  index integer not null,                                   -- place in the request, from 0
  sim_id bigint,                                            -- null: there is no such SIM
  named text,                                               -- what the request called a SIM that is not there
  pool_id bigint,                                           -- batch: the target; null: none
  tariff_id bigint,
  tag text,                                                 -- batch: applied on completion
  outcome text not null                                     -- opened: its ticket has a status
    check (outcome in ('waiting', 'refused', 'opened', 'running', 'activated', 'alreadyActive', 'compensated',
                       'cancelled', 'failed')),
  provision_ticket uuid,                                    -- batch: the tickets of its provision-and-activate
  activate_ticket uuid,
  unassign_ticket uuid,
  step text,                                                -- refused, compensated, failed: where, and why
  code text,
  detail text,
  ended_at timestamptz,                                     -- null: refused, opened, or not ended
  primary key (bulk_id, index),
  constraint bulk_items_bulk_id_tenant foreign key (tenant_id, bulk_id) references bulk_runs (tenant_id, id)
);
create index bulk_items_outcome on bulk_items (bulk_id, outcome, index);
create unique index bulk_items_waiting on bulk_items (bulk_id, sim_id) where outcome = 'waiting';
grant insert, select, update on bulk_items to simherd_tenant;

-- Work list: runs with tickets to open or to cancel. The queue's job only rings the bell.
create table bulk_work (
  tenant_id text not null default app_tenant(),
  bulk_id uuid not null,
  due_at timestamptz not null,
  primary key (tenant_id, bulk_id)
);
create index bulk_work_due on bulk_work (due_at);
create policy all_tenants on bulk_work to simherd_platform using (true);
grant delete, insert, select, update on bulk_work to simherd_tenant;
grant select on bulk_work to simherd_platform;

-- Whether the carrier refuses our credentials: for all workers that have the same.
create table carrier_refusals (
  credential text primary key,                              -- fingerprint of address and secret, by scrypt
  since timestamptz not null,                               -- refused first, since it was accepted last
  probes integer not null,                                  -- refused since then
  probe_at timestamptz not null,                            -- when the next ticket may be sent to see
  told_at timestamptz,                                      -- null: people were never told
  ended_at timestamptz                                      -- null: it is refused
);
create policy all_refusals on carrier_refusals to simherd_platform using (true) with check (true);
create policy readable on carrier_refusals for select to simherd_tenant using (true);
grant insert, select, update on carrier_refusals to simherd_platform;
grant select on carrier_refusals to simherd_tenant;

-- === Usage: records by month, and all that sums them up ===

-- Usage: the records themselves, what they add up to per cycle, SIM and pool, and time buckets.
-- One row a usage record; (record id, time) is its identity within the tenant.
create table usage_records (
  tenant_id text not null default app_tenant(),
  record_id text not null,
  at timestamptz not null,
  sim_id bigint not null,
  pool_id integer not null,                                 -- the pool at that time; 0: none
  cycle_key text not null,
  bytes_up bigint not null,
  bytes_down bigint not null,
  voice_seconds bigint not null,
  sms_count bigint not null,
  sessions bigint not null default 0,                       -- data sessions begun
  imei text,
  country text,                                             -- ISO 3166-1 alpha-2
  mcc_mnc text,
  rat text,
  correction boolean not null default false,
  received_at timestamptz not null,
  delivery_id bigint,                                       -- null: of no delivery
  primary key (tenant_id, record_id, at)
) partition by range (at);
create index usage_records_sim on usage_records (sim_id, at);
grant delete, insert, select, update on usage_records to simherd_tenant;

-- Deliveries of usage: who sent what, when, and what was made of it. A row each; records name the one they came with.
create table usage_deliveries (
  id bigint generated always as identity primary key,
  tenant_id text not null default app_tenant() references tenants (id),
  began_at timestamptz not null,
  ended_at timestamptz,                                     -- null: under way, or its process was killed
  actor text not null,                                      -- as in audit_log
  key_id text,
  request_id text not null,
  outcome text check (outcome in ('complete', 'broken')),   -- broken: not read to its end; what was counted stays
  accepted bigint not null default 0,
  duplicates bigint not null default 0,
  rejected bigint not null default 0,
  bytes bigint not null default 0,                          -- that came, as they came
  sha256 text                                               -- of these bytes
);
create index usage_deliveries_tenant on usage_deliveries (tenant_id, id desc);
grant insert, select on usage_deliveries to simherd_tenant;
grant update (accepted, bytes, duplicates, ended_at, outcome, rejected, sha256) on usage_deliveries to simherd_tenant;

-- When usage of a tenant was last received, whatever the instants of its records. One row a tenant, updated once a
-- chunk.
create table usage_feeds (
  tenant_id text primary key default app_tenant(),
  received_at timestamptz not null,
  newest_at timestamptz                                     -- instant of the newest record; null: none yet
) with (fillfactor=50);
create policy figures on usage_feeds for select to simherd_platform using (true);
grant insert, select, update on usage_feeds to simherd_tenant;
grant select (received_at, tenant_id) on usage_feeds to simherd_platform;

-- Billing cycles that have been opened: their ledger rows for active SIMs are made.
create table cycles (
  tenant_id text not null default app_tenant(),
  key text not null,
  starts_at timestamptz not null,
  ends_at timestamptz not null,
  opened_at timestamptz not null,
  closed_at timestamptz,
  records_accepted bigint not null default 0,
  records_duplicate bigint not null default 0,
  records_rejected bigint not null default 0,
  version bigint not null default 1,
  bytes bigint not null default 0,
  voice_seconds bigint not null default 0,
  sms_count bigint not null default 0,
  stated_at timestamptz,
  primary key (tenant_id, key),
  constraint cycles_total check (greatest(abs(bytes), abs(voice_seconds), abs(sms_count)) <= 9000000000000000)
);
grant delete, insert, select, update on cycles to simherd_tenant;

-- How far the opening of a cycle has come, a row for each cycle that is being opened in slices of SIMs.
-- The cycle's own row is written last: it marks the cycle open.
create table cycle_openings (
  tenant_id text not null default app_tenant() references tenants (id),
  cycle_key text not null,
  opened_to bigint not null default 0,                      -- SIMs with an id up to this one have their ledger rows
  primary key (tenant_id, cycle_key)
);
grant delete, insert, select, update on cycle_openings to simherd_tenant;

-- The ledger: one row a (cycle, SIM, pool or 0).
create table usage_ledger (
  tenant_id text not null default app_tenant(),
  cycle_key text not null,
  sim_id bigint not null,
  pool_id integer not null,
  tariff_id integer,                                        -- the SIM's own, last one in force in this cycle and pool
  contributing boolean not null default false,              -- was Active here at some moment of the cycle
  bytes bigint not null default 0 check (bytes >= 0),
  voice_seconds bigint not null default 0 check (voice_seconds >= 0),
  sms_count bigint not null default 0 check (sms_count >= 0),
  sessions bigint not null default 0 check (sessions >= 0), -- data sessions begun
  primary key (tenant_id, cycle_key, sim_id, pool_id),
  constraint usage_ledger_total check (greatest(bytes, voice_seconds, sms_count, sessions) <= 9000000000000000)
) with (fillfactor=50, autovacuum_analyze_scale_factor=0.02, autovacuum_analyze_threshold=1000);
create index usage_ledger_pool on usage_ledger (tenant_id, cycle_key, pool_id, sim_id);
grant delete, insert, select, update on usage_ledger to simherd_tenant;

-- Totals of a pool in a cycle, kept by every statement that touches its ledger rows.
create table pool_cycles (
  tenant_id text not null default app_tenant(),
  cycle_key text not null,
  pool_id integer not null,
  bytes bigint not null default 0,
  voice_seconds bigint not null default 0,
  sms_count bigint not null default 0,
  contributing integer not null default 0,                  -- SIMs
  usage_version bigint not null default 1,
  limit_bytes bigint not null default 0,                    -- as of divided_version
  remaining_bytes bigint not null default 0,                -- as of divided_version
  excess_bytes bigint not null default 0,                   -- bytes of rows above their limits
  summed_version bigint not null default 0,                 -- usage_version of limit_bytes, excess_bytes,
                                                            -- remaining_bytes
  primary key (tenant_id, cycle_key, pool_id),
  constraint pool_cycles_total check (greatest(abs(bytes), abs(voice_seconds), abs(sms_count)) <= 9000000000000000)
) with (fillfactor=50, autovacuum_analyze_scale_factor=0.02, autovacuum_analyze_threshold=1000);
grant delete, insert, select, update on pool_cycles to simherd_tenant;

-- Usage by time, for window facts. Kind: 1 SIM, 2 pool, 3 tenant (subject 0); a tag has none.
create table usage_buckets (
  tenant_id text not null default app_tenant(),
  subject_kind smallint not null check (subject_kind in (1, 2, 3, 4)),
  subject_id bigint not null,
  starts_at timestamptz not null,
  bytes bigint not null default 0,
  voice_seconds bigint not null default 0,
  sms_count bigint not null default 0,
  primary key (tenant_id, subject_kind, subject_id, starts_at),
  constraint usage_buckets_total check (greatest(abs(bytes), abs(voice_seconds), abs(sms_count)) <= 9000000000000000)
);
grant delete, insert, select, update on usage_buckets to simherd_tenant;

-- What comes for a cycle after its statement becomes adjustment lines of the next statement. Pools (0: outside pools)
-- of closed cycles whose ledger has changed since they were last stated. Set by whoever changes the ledger, under the
-- lock of the pool's totals; taken away by the close that states the difference.
create table restatements (
  tenant_id text not null default app_tenant(),
  cycle_key text not null,
  pool_id integer not null,
  primary key (tenant_id, cycle_key, pool_id)
);
grant delete, insert, select on restatements to simherd_tenant;

-- === Month end: queued changes and statements ===

-- What a month end does: a row for each change that was queued before a cycle's end, and for each suspended SIM that
-- the month end brings back by itself. It keeps a change from being carried out twice, and says what became of it.
create table month_end_changes (
  tenant_id text not null default app_tenant() references tenants (id),
  cycle_key text not null,                                  -- the cycle that ends
  kind text not null check (kind in ('unassign', 'move', 'return')),
  sim_id bigint not null,
  ticket_id uuid,                                           -- the last one; null where none could be opened
  outcome text not null check (outcome in ('open', 'complete', 'failed')),
  code text,                                                -- failed: why
  detail text,
  attempts integer not null default 1,                      -- tickets and refusals so far
  primary key (tenant_id, cycle_key, kind, sim_id),
  constraint month_end_changes_sim_id_tenant foreign key (tenant_id, sim_id) references sims (tenant_id, id)
);
create index month_end_changes_open on month_end_changes (sim_id) where outcome = 'open';
create index month_end_changes_outcome on month_end_changes (tenant_id, cycle_key, kind, outcome, sim_id);
create unique index month_end_changes_ticket on month_end_changes (ticket_id) where ticket_id is not null;
grant insert, select, update on month_end_changes to simherd_tenant;

-- Frozen figures of a closed cycle. Pool 0: SIMs outside pools. SIM null: the pool's own line.
create table statements (
  id bigint generated always as identity primary key,
  tenant_id text not null default app_tenant(),
  cycle_key text not null,
  pool_id integer not null,
  pool_name text not null,
  sim_id bigint,
  iccid text,
  tag text,                                                 -- of the SIM, when the line was written
  kind text not null check (kind in ('sim', 'pool', 'empty', 'adjustment')),
  tariff_id integer,
  bytes bigint not null,
  voice_seconds bigint not null,
  sms_count bigint not null,
  limit_bytes bigint not null,
  overage_bytes bigint not null,
  fee_micro bigint not null,                                -- monthly fee of a SIM; cost of a Fixed pool's bucket
  sms_micro bigint not null,
  voice_micro bigint not null,
  overage_micro bigint not null,
  adjusts text,                                             -- adjustments: the closed cycle they are of
  constraint statements_adjusts_check check ((kind = 'adjustment') = (adjusts is not null))
);
create index statements_adjusts on statements (tenant_id, adjusts, pool_id) where adjusts is not null;
create index statements_lines on statements (tenant_id, cycle_key, id);
create unique index statements_once on statements (tenant_id, cycle_key, pool_id, sim_id, adjusts) nulls not distinct;
create index statements_sim on statements (tenant_id, sim_id, cycle_key) where sim_id is not null;
grant insert, select on statements to simherd_tenant;
grant usage on sequence statements_id_seq to simherd_tenant;

-- What a statement's lines add up to, by pool and by the cycle that they are about. Money in micro-units.
create table statement_parts (
  tenant_id text not null default app_tenant() references tenants (id),
  cycle_key text not null,
  adjusts text not null,                                    -- the closed cycle that adjustments are about; '': the
                                                            -- cycle's own lines
  pool_id integer not null,                                 -- 0: outside pools
  pool_name text not null,
  usage_version bigint not null,                            -- of pool_cycles, when the first line of the pool was
                                                            -- written
  lines integer not null,
  bytes bigint not null,                                    -- of the lines of SIMs
  voice_seconds bigint not null,                            -- of the lines of SIMs
  sms_count bigint not null,                                -- of the lines of SIMs
  limit_bytes bigint not null,                              -- of the pool's own line, or else of the lines of SIMs
  overage_bytes bigint not null,                            -- of the lines of SIMs
  charge_micro bigint not null,                             -- of all lines
  line_id bigint,                                           -- kept for the pool's own line, where that is written
                                                            -- last; else null
  primary key (tenant_id, cycle_key, adjusts, pool_id)
);
grant insert, select, update on statement_parts to simherd_tenant;

-- A statement is written in slices, each a transaction. How far a statement has come, a row for each cycle that is
-- being closed.
create table statement_progress (
  tenant_id text not null default app_tenant() references tenants (id),
  cycle_key text not null,
  adjusts text not null,                                    -- the closed cycle whose changes come next; '': the
                                                            -- cycle's own lines
  pool_id integer not null,                                 -- the last that is stated (0: outside pools); -1: none
  sim_id bigint not null,                                   -- the last that is stated of the pool; 2^53 - 1: all
  primary key (tenant_id, cycle_key)
);
grant delete, insert, select, update on statement_progress to simherd_tenant;

-- What the lines of a statement add up to, so that a page of them does not add them all up. Money in micro-units.
create table statement_totals (
  tenant_id text not null default app_tenant(),
  cycle_key text not null,
  lines integer not null,                                   -- without the line of an empty cycle
  total_micro bigint not null,
  primary key (tenant_id, cycle_key)
);
grant insert, select on statement_totals to simherd_tenant;

-- Answers as they were last given, so that not every request adds them up: cost and plan of a cycle, coverage of the
-- estate. They may be deleted at any time; without its plan a statement is not compared.
create table kept_answers (
  tenant_id text not null default app_tenant(),
  kind text not null check (kind in ('cost', 'plan', 'coverage')),
  key text not null,                                        -- of the cycle; '' for the coverage
  answer jsonb not null,                                    -- the schema of its kind in domain/; read again only if it fits
  as_of timestamptz not null,
  primary key (tenant_id, kind, key)
);
grant insert, select, update on kept_answers to simherd_tenant;

-- === Rules: versions, which is in force, and trials ===

-- Rule sets, alerts, the watchdog log, notifications and what is to happen after commit.
-- Immutable versions of the rule set; at most one is in force.
create table rule_sets (
  version integer generated always as identity primary key,
  hash text not null unique,
  rules jsonb not null,                                     -- [{name, file, text}] as loaded
  author text not null,
  created_at timestamptz not null,
  actor text,                                               -- who brought the version in
  reason text,
  request_id text
);
create policy all_sets on rule_sets to simherd_platform using (true) with check (true);
create policy readable on rule_sets for select to simherd_tenant using (true);
grant insert, select on rule_sets to simherd_platform;
grant select on rule_sets to simherd_tenant;

-- Which version of the rules is in force: the newest row counts, and none is ever changed.
create table rule_activations (
  id bigint generated always as identity primary key,
  version integer not null,
  at timestamptz not null,
  author text not null,                                     -- as the caller gave it
  actor text,                                               -- key:<id>, service:<process>, …; null: not known
  reason text,                                              -- null: none was given
  request_id text,
  constraint rule_activations_version_fkey foreign key (version) references rule_sets (version)
);
create index rule_activations_version on rule_activations (version, id desc);
create policy all_activations on rule_activations to simherd_platform using (true) with check (true);
create policy readable on rule_activations for select to simherd_tenant using (true);
grant insert, select on rule_activations to simherd_platform;
grant select on rule_activations to simherd_tenant;

-- Changes of the rules on their way to the tenants. Each tenant takes them in order, in a transaction of its own that
-- also notes the newest it has taken. Rows are never changed.
create table rule_spreads (
  id bigint generated always as identity primary key,
  version integer not null,                                 -- in force from then on
  shifts jsonb not null,                                    -- rules that say something else, and to whom: RuleShift in
                                                            -- store/rule-spreads.ts
  constraint rule_spreads_version_fkey foreign key (version) references rule_sets (version)
);
create policy all_spreads on rule_spreads to simherd_platform using (true) with check (true);
create policy readable on rule_spreads for select to simherd_tenant using (true);
grant insert, select on rule_spreads to simherd_platform;
grant select on rule_spreads to simherd_tenant;

-- Backtests that operators ask for: what rules would have done in a tenant's past. The platform's own; a worker does
-- one at a time.
create table backtests (
  id bigint generated always as identity primary key,
  tenant_id text not null references tenants (id),          -- whose past
  version integer,                                          -- null: files that are not stored
  files jsonb,                                              -- their texts, until it has ended
  cycles integer not null,                                  -- how many of the billing cycles that had ended last
  actor text,                                               -- key:<id>; null: not known
  asked_at timestamptz not null,
  state text not null default 'queued' check (state in ('queued', 'running', 'done', 'failed')),
  starts integer not null default 0,                        -- how often it was begun; also which of them writes here
  started_at timestamptz,
  ended_at timestamptz,
  records bigint,                                           -- of usage, in all; null: not counted yet
  records_done bigint not null default 0,
  report jsonb,
  failure text,
  constraint backtests_version_fkey foreign key (version) references rule_sets (version)
);
create index backtests_asked on backtests (asked_at);
create index backtests_waiting on backtests (id) where state in ('queued', 'running');
create policy all_backtests on backtests to simherd_platform using (true) with check (true);
grant delete, insert, select, update on backtests to simherd_platform;

-- === The watchdog: what it looks at, alerts, log and silences ===

-- What the watchdog looks at: subjects that have changed, many in a row of one table; and all subjects by ranges of
-- ids, each with the instant at which time alone may change an answer. Due marks stay for exact instants: the end of a
-- `for`, and the enforcement's next look.
create table changed_subjects (
  id bigint generated always as identity primary key,
  tenant_id text not null default app_tenant() references tenants (id),
  sim_ids bigint[] not null,
  pool_ids integer[] not null,
  claimed_until timestamptz,                                -- by an evaluation; null before the first
  cycle_key text,                                           -- of the usage; null: another change
  due_at timestamptz,                                       -- when to look at them; null: now
  constraint changed_subjects_size check (cardinality(sim_ids) + cardinality(pool_ids) <= 50000)
);
create index changed_subjects_tenant on changed_subjects (tenant_id, id);
create policy all_tenants on changed_subjects to simherd_platform using (true);
grant delete, insert, select, update on changed_subjects to simherd_tenant;
grant select on changed_subjects to simherd_platform;

-- Numbers of due marks.
create sequence due_seq;
grant usage on sequence due_seq to simherd_tenant;

-- Work list of the watchdog: subjects to evaluate, and from when on.
create table due_subjects (
  tenant_id text not null default app_tenant(),
  subject_kind smallint not null check (subject_kind in (1, 2, 3, 4)),
  subject_id bigint not null,
  due_at timestamptz not null,
  seq bigint not null,                                      -- changes with every mark: an evaluation clears only the
                                                            -- mark it read
  failures integer not null default 0,                      -- in a row; 0 after one that did not fail
  not_before timestamptz,                                   -- it is not tried before; null: as soon as it is due
  primary key (tenant_id, subject_kind, subject_id)
);
create index due_subjects_due on due_subjects (tenant_id, due_at);
create index due_subjects_held_back on due_subjects (tenant_id) where not_before is not null;
create policy all_tenants on due_subjects to simherd_platform using (true);
grant delete, insert, select, update on due_subjects to simherd_tenant;
grant select on due_subjects to simherd_platform;

create table watch_shards (
  tenant_id text not null default app_tenant() references tenants (id),
  subject_kind smallint not null check (subject_kind in (1, 2, 3, 4)), -- SubjectKind
  from_id bigint not null,
  to_id bigint,                                             -- not in it; null: no end
  next_at timestamptz not null,                             -- when to look at its subjects; the end of a lease
  asked bigint not null default 0,                          -- rises when a look is asked for
  brought_at timestamptz,                                   -- while it is looked at: the earliest instant asked for
                                                            -- meanwhile
  primary key (tenant_id, subject_kind, from_id)
);
create index watch_shards_next on watch_shards (next_at);
create policy all_tenants on watch_shards to simherd_platform using (true);
grant delete, insert, select, update on watch_shards to simherd_tenant;
grant select on watch_shards to simherd_platform;

-- Patterns of tags that rules add up SIMs by: subjects of kind 4. A row stays when its rules are gone: alerts name it.
create table tag_patterns (
  id bigint generated always as identity primary key,
  tenant_id text not null default app_tenant() references tenants (id),
  pattern text not null,                                    -- * stands for any characters
  constraint tag_patterns_tenant_id_pattern_key unique (tenant_id, pattern)
);
grant insert, select on tag_patterns to simherd_tenant;

-- State of each alert: rule and subject, by scope (the cycle's key for cycle-bound rules, else '').
create table alerts (
  id bigint generated always as identity,
  tenant_id text not null default app_tenant(),
  rule text not null,
  subject_kind smallint not null check (subject_kind in (1, 2, 3, 4)),
  subject_id bigint not null,
  scope text not null,
  state jsonb not null,                                     -- rules/alerts/alert-state.ts: AlertState
  firing boolean not null,
  asked text,                                               -- the last signal that enforcement sent for it
  asked_at timestamptz,
  rule_version integer not null,
  evaluated_at timestamptz not null,                        -- watermark: an older evaluation never overwrites
  explanation jsonb not null,                               -- comparisons of its rule
  primary key (tenant_id, rule, subject_kind, subject_id, scope)
) with (autovacuum_analyze_scale_factor=0.02, autovacuum_analyze_threshold=1000);
create index alerts_held on alerts (tenant_id, ((state #>> '{guard,hold}')), id) where state #>> '{guard,is}' = 'held';
create unique index alerts_id on alerts (tenant_id, id);
create index alerts_not_ended on alerts (tenant_id, id)
  where (state ->> 'phase' in ('pending', 'firing', 'recovering'));
-- The same alerts in other words, so that PostgreSQL cannot take the index above for a list of one rule.
create index alerts_not_ended_of_rule on alerts (tenant_id, rule, id) where (firing or state ->> 'phase' = 'pending');
create index alerts_subject on alerts (tenant_id, subject_kind, subject_id);
grant delete, insert, select, update on alerts to simherd_tenant;

create table watchdog_log (
  id bigint generated always as identity primary key,
  tenant_id text not null default app_tenant(),
  dedupe_key text not null,                                 -- alert key and kind: an entry is written once
  rule text,
  rule_version integer,
  sim_id bigint,
  pool_id integer,
  level smallint not null check (level in (0, 1, 2)),       -- LogLevel
  message text not null,
  at timestamptz not null,
  cycle_key text,
  explanation jsonb,
  grounds jsonb,
  constraint watchdog_log_tenant_id_dedupe_key_key unique (tenant_id, dedupe_key)
);
create index watchdog_log_pool on watchdog_log (tenant_id, pool_id, at desc, id desc);
create index watchdog_log_sim on watchdog_log (tenant_id, sim_id, at desc, id desc);
create index watchdog_log_tenant on watchdog_log (tenant_id, at desc, id desc);
grant insert, select on watchdog_log to simherd_tenant;

-- What rules in stage shadow would have logged, mailed and suspended: for the operator alone, and kept for a while.
create table shadow_log (
  id bigint generated always as identity not null,
  tenant_id text not null default app_tenant() references tenants (id),
  dedupe_key text not null,                                 -- of the telling
  does text not null check (does in ('log', 'mail', 'suspend')),
  rule text not null,
  rule_version integer not null,
  sim_id bigint,
  pool_id integer,
  level smallint not null check (level in (0, 1, 2)),       -- LogLevel
  message text not null,
  at timestamptz not null,
  cycle_key text not null,
  primary key (tenant_id, id),
  constraint shadow_log_tenant_id_dedupe_key_does_key unique (tenant_id, dedupe_key, does)
);
create index shadow_log_at on shadow_log (at);
create index shadow_log_rule on shadow_log (tenant_id, rule, at desc, id desc);
create index shadow_log_tenant on shadow_log (tenant_id, at desc, id desc);
create policy all_tenants on shadow_log to simherd_platform using (true);
grant delete on shadow_log to simherd_platform;
grant insert, select on shadow_log to simherd_tenant;
grant select (at, id, tenant_id) on shadow_log to simherd_platform;

-- What rules would suspend where they may not: a work list, written by evaluations, worked off after their commit.
create table would_suspend (
  tenant_id text not null default app_tenant() references tenants (id),
  rule text not null,
  subject_kind smallint not null check (subject_kind in (1, 2, 3, 4)), -- SubjectKind
  subject_id bigint not null,
  cycle_key text not null,
  rule_version integer not null,
  target text not null,                                     -- of the rule: whom it picks
  reason text not null,                                     -- the rule's message, filled in
  due_at timestamptz not null,                              -- later after a failure
  primary key (tenant_id, rule, subject_kind, subject_id)
);
create policy all_tenants on would_suspend to simherd_platform using (true);
grant delete, insert, select, update on would_suspend to simherd_tenant;
grant select on would_suspend to simherd_platform;

-- Silences: notices of alerts that a person does not want mailed for a while. Entries of the log and suspensions go on.
create table silences (
  id integer generated always as identity primary key,
  tenant_id text not null default app_tenant() references tenants (id),
  rule text,                                                -- a pattern with *; null: any. So are the next four
  sim_id bigint,
  pool_id integer,                                          -- the pool and its SIMs
  tag text,                                                 -- a pattern with *
  level smallint check (level in (0, 1, 2)),                -- LogLevel
  times jsonb,                                              -- WeekTime[] (domain/alerts/week-times.ts); null: always
  time_zone text,                                           -- of the times
  reason text not null,
  created_at timestamptz not null,
  created_by text,                                          -- actor of the audit trail; null: the service
  ends_at timestamptz not null,                             -- infinity: it has no end
  ended_at timestamptz,                                     -- by a person, before ends_at
  ended_by text
);
create index silences_open on silences (tenant_id, ends_at) where ended_at is null;
create index silences_tenant on silences (tenant_id, id desc);
grant insert, select, update on silences to simherd_tenant;

-- === Enforcement: suspensions and the guard ===

-- Who suspended a SIM: one open row while it is suspended for a reason.
create table suspensions (
  id bigint generated always as identity primary key,
  tenant_id text not null default app_tenant(),
  sim_id bigint not null,
  cause text not null check (cause in ('user', 'watchdog')),
  rule text,
  cycle_key text,
  until text check (until in ('renewal', 'manual')),
  workflow_id text,
  opened_at timestamptz not null,
  closed_at timestamptz,
  closed_because text,
  constraint suspensions_sim_id_tenant foreign key (tenant_id, sim_id) references sims (tenant_id, id)
);
create unique index suspensions_open on suspensions (sim_id) where closed_at is null;
create index suspensions_renewed on suspensions (tenant_id, closed_at)
  where cause = 'watchdog' and until = 'renewal' and closed_at is not null;
create index suspensions_rule on suspensions (tenant_id, rule, sim_id)
  where closed_at is null and cause = 'watchdog';
create index suspensions_sim on suspensions (sim_id, opened_at);
create index suspensions_tenant on suspensions (tenant_id, sim_id) where closed_at is null;
grant delete, insert, select, update on suspensions to simherd_tenant;

-- The SIMs that a pool's enforcement has armed in a cycle: told to stop, by their suspend-on-overage. They get what
-- the pool's run is told next, and a run that is started again finds them.
create table pool_arms (
  tenant_id text not null default app_tenant() references tenants (id),
  cycle_key text not null,
  pool_id integer not null,
  sim_id bigint not null,
  armed_at timestamptz not null,                            -- for the first time
  primary key (tenant_id, cycle_key, pool_id, sim_id),
  constraint pool_arms_pool_id_tenant foreign key (tenant_id, pool_id) references pools (tenant_id, id),
  constraint pool_arms_sim_id_tenant foreign key (tenant_id, sim_id) references sims (tenant_id, id)
);
grant delete, insert, select on pool_arms to simherd_tenant;

-- What the guard lets through, by the minute in which it did. Rows older than an hour are deleted by the next.
create table guard_counts (
  tenant_id text not null default app_tenant(),
  -- would: suspensions that are only logged
  what text not null check (what in ('alerts', 'suspensions', 'would')),
  rule text not null,
  rule_version integer not null,                            -- 0 for alerts
  pool_id integer not null,                                 -- 0: the whole tenant
  minute timestamptz not null,
  passed integer not null,
  primary key (tenant_id, what, rule, rule_version, pool_id, minute)
);
grant delete, insert, select, update on guard_counts to simherd_tenant;

-- A fuse that has blown: it waits for a person, and lapses with its cycle.
create table guard_holds (
  id bigint generated always as identity primary key,
  tenant_id text not null default app_tenant(),
  rule text not null,
  rule_version integer not null,
  pool_id integer,                                          -- null: the whole tenant
  cycle_key text not null,
  cycle_ends_at timestamptz not null,
  suspended integer not null,                               -- permitted in the hour before it opened
  allowed integer not null,                                 -- how many the settings let through then
  state text not null default 'held' check (state in ('held', 'released', 'discarded')),
  opened_at timestamptz not null,
  decided_at timestamptz,
  decided_by text,                                          -- the API key
  what text not null default 'suspensions' check (what in ('suspensions', 'alerts')),
  subjects integer                                          -- of alerts: held so far; once decided, those decided about
);
create unique index guard_holds_open on guard_holds (tenant_id, rule, rule_version, cycle_key, coalesce(pool_id, 0))
  where state = 'held';
create unique index guard_holds_tenant_id on guard_holds (tenant_id, id);
create policy figures on guard_holds for select to simherd_platform using (true);
grant insert, select, update on guard_holds to simherd_tenant;
grant select (cycle_ends_at, state) on guard_holds to simherd_platform;

-- A rule's ask to suspend a SIM, and its answer: for as long as the alert that asks.
create table guard_permits (
  id bigint generated always as identity primary key,
  tenant_id text not null default app_tenant(),
  rule text not null,
  rule_version integer not null,
  pool_id integer,                                          -- of a pool's rule: counted in its pool
  cycle_key text not null,
  sim_id bigint not null,
  workflow_id text not null,                                -- who asked last, and hears of the decision
  state text not null check (state in ('granted', 'held', 'discarded')),
  hold_id bigint,                                           -- the hold that decides about it, or has
  at timestamptz not null,
  over_at timestamptz,                                      -- the alert has cleared or stands down: the next one asks
                                                            -- anew
  constraint guard_permits_hold_id_tenant foreign key (tenant_id, hold_id) references guard_holds (tenant_id, id)
);
create index guard_permits_hold on guard_permits (hold_id) where hold_id is not null;
create unique index guard_permits_open on guard_permits (tenant_id, sim_id, rule, cycle_key, rule_version)
  where over_at is null;
create index guard_permits_pool on guard_permits (tenant_id, pool_id, rule)
  where over_at is null and pool_id is not null;
create index guard_permits_rule on guard_permits (tenant_id, rule, sim_id) where over_at is null;
grant insert, select, update on guard_permits to simherd_tenant;

-- === Events, and what is sent: mails, webhooks, notices to the operator ===

create table events (
  id bigint generated always as identity primary key,
  tenant_id text,                                           -- null: the platform's, seen by every tenant
  type smallint not null check (type in (0, 1, 2)),         -- EventType
  severity smallint not null check (severity in (0, 1, 2)), -- EventSeverity
  title text not null,
  description text not null,
  at timestamptz not null
);
create index events_tenant on events (tenant_id, at desc, id desc);
create policy own on events for insert to simherd_tenant with check (tenant_id = app_tenant());
create policy platform on events to simherd_platform using (tenant_id is null) with check (tenant_id is null);
create policy readable on events for select to simherd_tenant
  using (case when tenant_id = (select app_tenant()) or tenant_id is null then true end);
grant insert, select on events to simherd_platform;
grant insert, select on events to simherd_tenant;

-- What is to be told: one row an (alert key, kind), written with the log entry.
create table notifications (
  id bigint generated always as identity primary key,
  tenant_id text not null default app_tenant(),
  dedupe_key text not null,
  level smallint not null check (level in (0, 1, 2)),       -- LogLevel
  body jsonb not null,                                      -- domain/notifications/notification.ts: Notification
  due_at timestamptz not null,
  mail_id text,                                             -- the mail it leaves with, fixed before SMTP
  created_at timestamptz not null,
  subject text generated always as (
    (body #>> '{subject,kind}') || '/' || (body #>> '{subject,id}')) stored, -- sim/12, pool/7; null: of a cycle
  constraint notifications_tenant_id_dedupe_key_key unique (tenant_id, dedupe_key)
);
create index notifications_mail on notifications (mail_id);
create index notifications_subject on notifications (tenant_id, subject) where mail_id is not null;
create index notifications_waiting on notifications (tenant_id, due_at) where mail_id is null;
create policy figures on notifications for select to simherd_platform using (true);
grant delete, insert, select, update on notifications to simherd_tenant;
grant select (due_at, mail_id, tenant_id) on notifications to simherd_platform;

-- Where a tenant's mails go beside its billing address: copies, escalations, and billing addresses that are being
-- changed.
--
-- A tenant whose billing address has never changed has no row of it: that address counts as confirmed.
create table addresses (
  id integer generated always as identity primary key,
  tenant_id text not null default app_tenant() references tenants (id),
  kind text not null check (kind in ('billing', 'copy', 'escalation')),
  email text not null,
  level smallint check (level in (0, 1, 2)),                -- LogLevel: mails of this one at least; null: all
  rules text,                                               -- a pattern with *: mails about such rules; null: all
  confirmed_at timestamptz,                                 -- billing: since when it is known to be right
  bad_since timestamptz,                                    -- since when no server takes mails for it
  created_at timestamptz not null,
  created_by text                                           -- actor of the audit trail; null: the service
);
create unique index addresses_email on addresses (tenant_id, kind, lower(email));
create index addresses_of on addresses (lower(email));
create policy figures on addresses for select to simherd_platform using (true);
grant delete, insert, select, update on addresses to simherd_tenant;
grant select (bad_since, email, kind, tenant_id) on addresses to simherd_platform;

-- Mails as they were rendered: what is sent, shown and sent again.
create table mail_bodies (
  mail_id text primary key,
  tenant_id text not null default app_tenant() references tenants (id),
  subject text not null,
  text text not null,
  html text not null,
  headers jsonb not null,                                   -- by name, beside those of every mail
  attachments jsonb not null,                               -- with their content, or what it is read from when the
                                                            -- mail is sent
  created_at timestamptz not null
);
create index mail_bodies_age on mail_bodies (tenant_id, created_at);
grant delete, insert, select on mail_bodies to simherd_tenant;

-- Attempts at mails, and what the server answered: of each mail the newest, as long as its body is kept.
create table mail_attempts (
  id bigint generated always as identity primary key,
  tenant_id text not null default app_tenant(),
  mail_id text not null,
  at timestamptz not null,
  outcome text not null check (outcome in ('delivered', 'later', 'refused', 'gone', 'ours')), -- domain/channels/channel.ts
  response text not null,                                   -- the answer, shortened, or why none came
  next_attempt_at timestamptz                               -- as planned then; null: none
);
create index mail_attempts_mail on mail_attempts (mail_id, id);
grant delete, insert, select on mail_attempts to simherd_tenant;

-- Work list: tenants with notifications to group or mails to send.
create table mail_work (
  tenant_id text primary key default app_tenant(),
  due_at timestamptz not null
);
create index mail_work_due on mail_work (due_at);
create policy all_tenants on mail_work to simherd_platform using (true);
grant delete, insert, select, update on mail_work to simherd_tenant;
grant select on mail_work to simherd_platform;

-- Links in mails: the key that signs them, and what they can change of a tenant.
-- One row, which the first process that needs it makes. Without it, or with another, links that were mailed end.
create table mail_link_key (
  id boolean primary key default true check (id),
  key bytea not null,
  created_at timestamptz not null
);
grant insert, select on mail_link_key to simherd_platform;

-- What the operator of the installation is told: notices, and the mails that carry them.
create table operator_mails (
  id text primary key,                                      -- Message-ID, the same for every attempt
  subject text not null,
  text text not null,
  html text not null,
  status text not null default 'pending' check (status in ('pending', 'sent', 'failed')),
  attempts integer not null default 0,
  next_attempt_at timestamptz not null,
  tried_since timestamptz,                                  -- when the server first said: later
  refused_at timestamptz,                                   -- when the server first refused the address
  response text,
  created_at timestamptz not null,
  sent_at timestamptz
);
create index operator_mails_created on operator_mails (created_at);
create index operator_mails_pending on operator_mails (created_at) where status = 'pending';
grant delete, insert, select, update on operator_mails to simherd_platform;

create table operator_notices (
  id bigint generated always as identity primary key,
  tenant_id text default app_tenant() references tenants (id), -- null: about the installation
  key text not null,                                        -- what it is told once for
  body jsonb not null,
  count integer not null default 1,                         -- how often it came about
  due_at timestamptz not null,
  mail_id text references operator_mails (id),              -- null: not in a mail yet
  created_at timestamptz not null,
  last_at timestamptz not null,                             -- when it came about last
  constraint operator_notices_key unique nulls not distinct (tenant_id, key)
);
create index operator_notices_created on operator_notices (created_at);
create index operator_notices_mail on operator_notices (mail_id);
create index operator_notices_refused on operator_notices (last_at) where body ->> 'kind' = 'addressRefused';
create index operator_notices_waiting on operator_notices (due_at) where mail_id is null;
create policy all_tenants on operator_notices to simherd_platform using (true) with check (true);
grant delete, insert, select, update on operator_notices to simherd_platform;
grant insert, select, update on operator_notices to simherd_tenant;

-- Webhooks: a tenant's endpoints, the events that are told to them, and the delivery of each event to each endpoint.
--
-- Those deliveries are their own work list: the platform reads whose are due, and nothing of what they say.
create table webhooks (
  id integer generated always as identity primary key,
  tenant_id text not null default app_tenant() references tenants (id),
  channel text not null default 'webhook' check (channel in ('webhook')), -- adapters/channels/index.ts
  url text not null,
  description text not null,
  events text[],                                            -- null: all, also those of later releases
  secret text not null,                                     -- sealed with WEBHOOK_SECRETS_KEY; whsec_… where there is
                                                            -- no key
  previous_secret text,                                     -- signs too, until previous_until
  previous_until timestamptz,
  failures integer not null default 0,                      -- attempts in a row that found it away
  paused_until timestamptz,                                 -- no attempt before
  warned_at timestamptz,                                    -- when an event last said that it takes nothing
  disabled_at timestamptz,
  disabled_why text,
  created_at timestamptz not null,
  created_by text,                                          -- actor of the audit trail; null: the service
  constraint webhooks_tenant_id_id_key unique (tenant_id, id)
);
create policy all_tenants on webhooks to simherd_platform using (true);
grant delete, insert, select, update on webhooks to simherd_tenant;
grant select (disabled_at, id, paused_until, tenant_id) on webhooks to simherd_platform;

create table webhook_events (
  tenant_id text not null default app_tenant() references tenants (id),
  id text not null,                                         -- the header webhook-id
  type text not null,
  body text not null,                                       -- the bytes that are signed
  at timestamptz not null,
  primary key (tenant_id, id)
);
create index webhook_events_at on webhook_events (at);
create policy all_tenants on webhook_events to simherd_platform using (true);
grant delete on webhook_events to simherd_platform;
grant insert, select on webhook_events to simherd_tenant;
grant select (at, id, tenant_id) on webhook_events to simherd_platform;

-- Deliveries of mails, and of events to endpoints: one record each. Rows and Message-ID of a mail are fixed when it is
-- composed.
create table deliveries (
  id bigint generated always as identity primary key,
  tenant_id text not null default app_tenant(),
  status text not null default 'pending' check (status in ('pending', 'sent', 'failed')),
  attempts integer not null default 0,
  next_attempt_at timestamptz not null,
  tried_since timestamptz,                                  -- a mail: when the server first said: later; an event:
                                                            -- when it was written, or replayed last
  refused_at timestamptz,                                   -- when the server first refused the address
  answer integer,                                           -- SMTP's reply code or HTTP's status of the last attempt
  response text,                                            -- beginning of the last answer, or why none came
  created_at timestamptz not null,
  ended_at timestamptz,
  webhook_id integer,                                       -- null: a mail
  event_id text,
  mail_id text unique,                                      -- the Message-ID
  recipient text,
  subject text not null default '',
  kind text,                                                -- cause, joined, digest, grouped, summary, resent, copy
  resends text,                                             -- the mail that this one sends again
  address_id integer,                                       -- of addresses; null: the tenant's billing address. No
                                                            -- reference: it may be removed
  copy_of text,                                             -- the mail that this one is a copy of
  repeats text generated always as (coalesce(resends, copy_of)) stored,
  constraint deliveries_whole check (
    case when webhook_id is null then event_id is null and num_nulls(mail_id, recipient, kind) = 0
         else event_id is not null and num_nonnulls(mail_id, recipient, kind) = 0 end),
  constraint deliveries_tenant_id_event_id_fkey foreign key (tenant_id, event_id)
    references webhook_events (tenant_id, id) on delete cascade,
  constraint deliveries_tenant_id_webhook_id_fkey foreign key (tenant_id, webhook_id)
    references webhooks (tenant_id, id) on delete cascade
);
create index deliveries_repeats on deliveries (repeats) where repeats is not null;
create index deliveries_due on deliveries (tenant_id, webhook_id, next_attempt_at)
  where status = 'pending' and webhook_id is not null;
create index deliveries_event on deliveries (tenant_id, event_id) where event_id is not null;
create index deliveries_mails on deliveries (tenant_id, created_at desc) where mail_id is not null;
create index deliveries_mails_due on deliveries (tenant_id, created_at)
  where status = 'pending' and mail_id is not null;
create index deliveries_webhook on deliveries (tenant_id, webhook_id, id desc) where webhook_id is not null;
create policy all_tenants on deliveries for select to simherd_platform using (true);
grant insert, select, update on deliveries to simherd_tenant;
grant select (created_at, event_id, mail_id, next_attempt_at, status, tenant_id, tried_since, webhook_id) on deliveries to simherd_platform;

-- === Workflows: what is started and signalled ===

-- Starts and signals of workflows, done after commit.
create table workflow_outbox (
  id bigint generated always as identity primary key,
  tenant_id text not null default app_tenant(),
  workflow_id text not null,                                -- requests to one workflow are done in their order
  request jsonb not null,                                   -- domain/temporal/outbox.ts: WorkflowRequest
  due_at timestamptz not null,
  attempts integer not null default 0,
  created_at timestamptz not null,
  done_at timestamptz
);
create index workflow_outbox_due on workflow_outbox (due_at) where done_at is null;
create index workflow_outbox_open on workflow_outbox (id) where done_at is null;
create index workflow_outbox_order on workflow_outbox (workflow_id, id) where done_at is null;
create policy all_tenants on workflow_outbox to simherd_platform using (true) with check (true);
grant delete, insert, select, update on workflow_outbox to simherd_tenant;
grant delete, select, update on workflow_outbox to simherd_platform;

-- Workflows that run once for all, remembered longer than Temporal does.
create table workflow_starts (
  tenant_id text not null default app_tenant(),
  workflow_id text not null,
  started_at timestamptz not null,
  held boolean not null default false,                      -- a person has ended it: not again this cycle
  input jsonb,                                              -- domain/temporal/; null: passed over before it was
                                                            -- started
  type text generated always as (split_part(workflow_id, ':', 1)) stored,
  sim_id bigint generated always as (
    case when workflow_id like 'suspend-on-overage:%' then split_part(workflow_id, ':', 3)::bigint end) stored,
  pool_id integer generated always as (
    case when workflow_id like 'enforce-pool:%' then split_part(workflow_id, ':', 3)::integer end) stored,
  cycle_key text generated always as (
    case when workflow_id like 'suspend-on-overage:%' or workflow_id like 'enforce-pool:%'
         then split_part(workflow_id, ':', 4) end) stored,
  refused_at timestamptz,
  primary key (tenant_id, workflow_id)
);
create unique index workflow_starts_pool on workflow_starts (tenant_id, cycle_key, pool_id) where pool_id is not null;
create unique index workflow_starts_sim on workflow_starts (tenant_id, cycle_key, sim_id) where sim_id is not null;
comment on column workflow_starts.refused_at is
  'when the carrier refused for good to suspend its SIM; null if it did not, or a person has asked again since';
grant delete, insert, select, update on workflow_starts to simherd_tenant;

-- Activities of workflows that fail again and again, as workers report them. Temporal knows which of them are left.
create table workflow_troubles (
  tenant_id text not null default app_tenant(),
  workflow_id text not null,
  activity_id text not null,                                -- of the workflow's run
  activity text not null,
  attempt integer not null,                                 -- the last that failed
  code text not null,
  detail text not null,
  since timestamptz not null,                               -- scheduled
  failed_at timestamptz not null,
  next_attempt_at timestamptz not null,                     -- reported again within minutes after it
  primary key (tenant_id, workflow_id, activity_id)
);
create index workflow_troubles_next on workflow_troubles (next_attempt_at);
create index workflow_troubles_since on workflow_troubles (tenant_id, since, workflow_id, activity_id);
create policy all_tenants on workflow_troubles to simherd_platform using (true);
grant delete on workflow_troubles to simherd_platform;
grant delete, insert, select, update on workflow_troubles to simherd_tenant;
grant select (activity_id, next_attempt_at, tenant_id, workflow_id) on workflow_troubles to simherd_platform;

-- === Row-level security ===

-- Every table with rows of tenants has it, forced, so that the owner is bound too. The others are the platform's alone.
do $$
declare name text;
begin
  for name in select tablename from pg_tables where schemaname = 'public' and tablename not in (
    'kysely_migration', 'kysely_migration_lock', 'processes', 'mail_link_key', 'operator_mails')
  loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
  end loop;
end $$;

-- A tenant's work sees and changes the rows of that tenant. What a policy compares is no index condition and makes no rows
-- few: within a case, PostgreSQL takes half of them, whatever its statistics know of the tenant.
do $$
declare name text;
begin
  foreach name in array array[
    'idempotency_keys', 'audit_log', 'pools', 'orders', 'sims', 'memberships', 'active_spans', 'sim_blocks',
    'sim_sightings', 'device_changes', 'bulk_runs', 'tickets', 'ticket_work', 'bulk_items', 'bulk_work',
    'usage_records', 'usage_deliveries', 'usage_feeds', 'cycles', 'cycle_openings', 'usage_ledger', 'pool_cycles',
    'usage_buckets', 'restatements', 'month_end_changes', 'statements', 'statement_parts', 'statement_progress',
    'statement_totals', 'kept_answers', 'changed_subjects', 'due_subjects', 'watch_shards',
    'tag_patterns', 'alerts', 'watchdog_log', 'shadow_log', 'would_suspend', 'silences', 'suspensions', 'pool_arms',
    'guard_counts', 'guard_holds', 'guard_permits', 'notifications', 'addresses', 'mail_attempts', 'mail_bodies',
    'mail_work',
    'operator_notices', 'webhooks', 'webhook_events', 'deliveries', 'workflow_outbox', 'workflow_starts',
    'workflow_troubles']
  loop
    execute format(
      'create policy own on %I to simherd_tenant
         using (case when tenant_id = (select app_tenant()) then true end) with check (tenant_id = app_tenant())', name);
  end loop;
end $$;

-- === Views ===

-- Limit, excess and remaining bytes of a SIM in a pool and cycle, by the tariff that governs it. In a shared pool the
-- excess is the SIM's weight in the division of the overage, elsewhere its overage. The same in TypeScript:
-- domain/usage/allowance.ts.
create view ledger_figures with (security_invoker = true) as
select l.tenant_id, l.cycle_key, l.sim_id, l.pool_id, l.tariff_id, l.contributing, l.bytes, l.voice_seconds, l.sms_count,
       l.sessions, g.id as governing_tariff_id, g.type as governing_type, r.limit_bytes,
       case when g.id is null then 0 else greatest(0, l.bytes - r.limit_bytes) end as excess_bytes,
       greatest(0, r.limit_bytes - l.bytes) as remaining_bytes, coalesce(pt.type, 0) <> 0 as is_shared
  from usage_ledger l
  left join pools p on p.id = l.pool_id
  left join tariffs pt on pt.id = p.tariff_id
  left join tariffs own on own.id = l.tariff_id
  left join tariffs g on g.id = case when l.pool_id = 0 then own.id
                                     when pt.type <> 0 then pt.id
                                     when own.type = 0 then own.id
                                     else pt.id end
  left join pool_cycles pc on pc.tenant_id = l.tenant_id and pc.cycle_key = l.cycle_key and pc.pool_id = l.pool_id
  cross join lateral (
    select case when not l.contributing or g.id is null then 0
                when g.type = 2 then case when pc.contributing > 0 then g.allowance_bytes / pc.contributing else 0 end
                else g.allowance_bytes end as limit_bytes) r;

-- Limit, usage, overage and remaining bytes of pools, each row of one moment. Pool 0: SIMs outside pools.
create view pool_figures with (security_invoker = true) as
select pc.tenant_id, pc.cycle_key, pc.pool_id, pc.usage_version, pc.bytes, pc.voice_seconds, pc.sms_count,
       pc.contributing, c.is_shared,
       case when c.is_shared then c.capacity else s.limit_bytes end as limit_bytes,
       case when c.is_shared then greatest(0, pc.bytes - c.capacity) else s.excess_bytes end as overage_bytes,
       case when c.is_shared then greatest(0, c.capacity - pc.bytes) else s.remaining_bytes end as remaining_bytes,
       s.excess_bytes
  from pool_cycles pc
  left join pools p on p.id = pc.pool_id
  left join tariffs t on t.id = p.tariff_id
  cross join lateral (
    select coalesce(t.type, 0) <> 0 as is_shared,
           case t.type when 2 then t.allowance_bytes when 1 then t.allowance_bytes * pc.contributing end as capacity) c
  cross join lateral (
    select pc.limit_bytes, pc.excess_bytes, pc.remaining_bytes where pc.summed_version = pc.usage_version
    union all
    select sum_rows.limit_bytes, sum_rows.excess_bytes, sum_rows.remaining_bytes
      from (select coalesce(sum(f.limit_bytes) filter (where not c.is_shared), 0)::bigint as limit_bytes,
                   coalesce(sum(f.excess_bytes), 0)::bigint as excess_bytes,
                   coalesce(sum(f.remaining_bytes) filter (where not c.is_shared), 0)::bigint as remaining_bytes
              from ledger_figures f
             where f.tenant_id = pc.tenant_id and f.cycle_key = pc.cycle_key and f.pool_id = pc.pool_id) sum_rows
     where pc.summed_version <> pc.usage_version) s;
grant select on pool_figures to simherd_tenant;
grant select on ledger_figures to simherd_tenant;

-- === Searches over SIMs that an index serves ===

-- Under row-level security no index serves ilike, which is not leakproof. So a search is a function of a role that sees
-- the rows of all tenants. Its `tenant_id = app_tenant()` is the border.
grant create on schema public to simherd_search;
set local role simherd_search;

-- Ids of the SIMs with a text like this pattern, after an id: all, or so many of them, by id or as they are found.
-- No field has a line break that a pattern could name: service/sims/rows/search.ts. Planned anew each time, for the pattern.
create function search_sims(pattern text, of_status smallint, of_pool bigint, after_id bigint, most bigint, in_order boolean)
  returns setof bigint
  language plpgsql stable security definer rows 100
  set search_path = pg_catalog, pg_temp
as $$
begin
  return query execute format(
    'select id from public.sims
      where tenant_id = (select public.app_tenant())
        and lower(iccid || e''\n'' || imsi || e''\n'' || msisdn || e''\n'' || tag) like lower($1) %s %s %s %s %s',
    case when of_status is not null then 'and status = $2' end,
    case when of_pool is not null then 'and pool_id = $3' end,
    case when after_id is not null then 'and id > $4' end,
    case when in_order then 'order by id' end, case when most is not null then 'limit $5' end)
    using pattern, of_status, of_pool, after_id, most;
end $$;
revoke all on function search_sims from public;
grant execute on function search_sims to simherd_tenant;

-- Which ICCIDs are SIMs, of any tenant. A SIM of another tenant has no id. Each ICCID is looked up by its index.
create function sims_with_iccids(iccids text[]) returns table (iccid text, id bigint)
  language sql stable security definer rows 10
  set search_path = pg_catalog, pg_temp
as $$
  select s.iccid, s.id
    from unnest(iccids) as named(iccid)
   cross join lateral (
     select k.iccid, case when k.tenant_id = (select public.app_tenant()) then k.id end as id
       from public.sims k where k.iccid = named.iccid limit 1
   ) s
$$;
revoke all on function sims_with_iccids from public;
grant execute on function sims_with_iccids to simherd_tenant;

-- The first SIMs and pools, so many of each, whose tag or name begins with a text in upper or lower case.
create function named_from(beginning text, most integer) returns table (kind text, id bigint)
  language sql stable security definer rows 20
  set search_path = pg_catalog, pg_temp
as $$
  (select 'sim', s.id from public.sims s
    where s.tenant_id = (select public.app_tenant()) and s.tag <> ''
      and lower(s.tag) ~>=~ lower(beginning) and lower(s.tag) ~<~ (lower(beginning) || U&'\+10FFFF')
    order by lower(s.tag) using ~<~ limit most)
  union all
  (select 'pool', p.id from public.pools p
    where p.tenant_id = (select public.app_tenant()) and p.deleted_at is null
      and lower(p.name) ~>=~ lower(beginning) and lower(p.name) ~<~ (lower(beginning) || U&'\+10FFFF')
    order by lower(p.name) using ~<~ limit most)
$$;
revoke all on function named_from from public;
grant execute on function named_from to simherd_tenant;

reset role;
revoke create on schema public from simherd_search;
