-- Tariffs, pools, SIMs, what each SIM belonged to and when, and tickets.

create table tariffs (
  id integer generated always as identity primary key,
  tenant_id text references tenants,                       -- null: the platform's, offered to every tenant
  display_name text not null,
  description text not null,
  is_active boolean not null default true,
  type smallint not null check (type in (0, 1, 2)),        -- TariffType
  allowance_bytes bigint not null check (allowance_bytes >= 0), -- per SIM (Standard, Dynamic), or the whole capacity (Fixed)
  sim_monthly_fee bigint not null,                         -- all fees in micro-units of the currency
  fixed_bucket_cost bigint not null default 0,
  sms_fee bigint not null,
  voice_fee bigint not null,                               -- per minute
  overage_fee_per_gb bigint not null,
  created_at timestamptz not null
);
create index tariffs_tenant on tariffs (tenant_id, id);

create table pools (
  id integer generated always as identity primary key,
  tenant_id text not null default app_tenant() references tenants,
  name text not null,
  type smallint not null check (type in (0, 1)),           -- PoolType
  tariff_id integer not null references tariffs,
  watchdog_mode smallint not null check (watchdog_mode in (0, 1, 2)), -- WatchdogMode
  warning_threshold_pct smallint check (warning_threshold_pct between 1 and 100),
  enable_burn_rate_alerts boolean,
  status smallint not null default 1 check (status in (0, 1)), -- PoolStatus
  active_sim_count integer not null default 0,             -- kept by the trigger on sims
  total_sim_count integer not null default 0,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  activated_at timestamptz not null
);
create index pools_tenant on pools (tenant_id, id);

create table sims (
  id bigint generated always as identity primary key,
  tenant_id text not null default app_tenant() references tenants,
  iccid text not null unique,                              -- one line in the world: never two tenants'
  imsi text not null default '',
  msisdn text not null default '',
  imei text not null default '',
  imei_seen_at timestamptz,                                -- time of the record that last named the IMEI
  previous_imei text not null default '',
  tag text not null default '',
  type smallint not null check (type in (0, 1)),           -- SimType
  status smallint not null default 0 check (status in (0, 1, 2)), -- SimStatus
  status_since timestamptz not null,
  pool_id integer references pools,
  tariff_id integer references tariffs,                    -- the SIM's own
  provisioned_at timestamptz,
  last_seen_at timestamptz,
  esim_qr_payload text,
  esim_qr_data_url text,
  pending_pool_id integer references pools,
  pending_tariff_id integer references tariffs,
  pending_unassign boolean not null default false,
  pending_since timestamptz,
  watchdog_mode smallint check (watchdog_mode in (0, 1, 2)), -- WatchdogMode; null: the pool's
  warning_threshold_pct smallint check (warning_threshold_pct between 1 and 100), -- null: the pool's
  enable_burn_rate_alerts boolean,                         -- null: the pool's
  is_watchdog_exempt boolean not null default false,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index sims_tenant on sims (tenant_id, id);
create index sims_pool on sims (pool_id, id);
create index sims_pending on sims (tenant_id, id) where pending_since is not null;

-- Counts of a pool's SIMs, kept where SIMs change: lists of pools never count the estate.
create function count_pool_sims() returns trigger language plpgsql as $$
begin
  update pools p
     set active_sim_count = p.active_sim_count + d.active, total_sim_count = p.total_sim_count + d.total
    from (select pool_id, sum(active)::integer as active, sum(total)::integer as total
            from (values (old.pool_id, case when old.status = 1 then -1 else 0 end, -1),
                         (new.pool_id, case when new.status = 1 then 1 else 0 end, 1)) v(pool_id, active, total)
           where pool_id is not null
           group by pool_id
           order by pool_id) d
   where p.id = d.pool_id and (d.active <> 0 or d.total <> 0);
  return null;
end $$;
create trigger sims_counted after update on sims for each row
  when (old.pool_id is distinct from new.pool_id or old.status <> new.status)
  execute function count_pool_sims();

-- What a SIM belonged to: one open row (to_at null) for each provisioned SIM.
create table memberships (
  id bigint generated always as identity primary key,
  tenant_id text not null default app_tenant(),
  sim_id bigint not null references sims,
  pool_id integer not null,                                -- 0: outside a pool
  tariff_id integer,                                       -- the SIM's own
  from_at timestamptz not null,
  to_at timestamptz
);
create unique index memberships_open on memberships (sim_id) where to_at is null;
create index memberships_sim on memberships (sim_id, from_at);

-- When a SIM was Active: decides in which cycles and pools it contributes and pays.
create table active_spans (
  id bigint generated always as identity primary key,
  tenant_id text not null default app_tenant(),
  sim_id bigint not null references sims,
  from_at timestamptz not null,
  to_at timestamptz
);
create unique index active_spans_open on active_spans (sim_id) where to_at is null;
create index active_spans_sim on active_spans (sim_id, from_at);

create table tickets (
  id uuid primary key,
  tenant_id text not null default app_tenant(),
  seq bigint generated always as identity,                 -- order of creation: FIFO within a SIM
  sim_id bigint not null references sims,
  type smallint not null check (type in (0, 1, 2, 3, 4)),  -- TicketType
  status smallint not null default 0 check (status in (0, 1, 2, 3, 4)), -- TicketStatus
  created_at timestamptz not null,
  pool_id integer,                                         -- provisioning: the target
  tariff_id integer,
  unassign boolean not null default false,
  tag text,                                                -- provisioning: applied on completion
  message text,                                            -- Send SMS
  cause jsonb not null,                                    -- who asked: see domain/ticket.ts
  effective_at timestamptz,                                -- changes at a cycle boundary: the boundary
  attempts integer not null default 0,
  next_attempt_at timestamptz not null,
  lease_until timestamptz,                                 -- Processing: after this another worker may take over
  failure_code text,
  failure_text text,
  finished_at timestamptz
);
create index tickets_tenant on tickets (tenant_id, seq desc);
create index tickets_open on tickets (sim_id, seq) where status in (0, 1);

-- Who suspended a SIM: one open row while it is suspended for a reason.
create table suspensions (
  id bigint generated always as identity primary key,
  tenant_id text not null default app_tenant(),
  sim_id bigint not null references sims,
  cause text not null check (cause in ('user', 'watchdog')),
  rule text,
  cycle_key text,
  until text check (until in ('renewal', 'manual')),
  workflow_id text,
  opened_at timestamptz not null,
  closed_at timestamptz,
  closed_because text
);
create unique index suspensions_open on suspensions (sim_id) where closed_at is null;
create index suspensions_tenant on suspensions (tenant_id, sim_id) where closed_at is null;

-- Work list: SIMs with open tickets. The queue's job only rings the bell.
create table ticket_work (
  tenant_id text not null default app_tenant(),
  sim_id bigint not null,
  due_at timestamptz not null,
  primary key (tenant_id, sim_id)
);
create index ticket_work_due on ticket_work (due_at);

create table events (
  id bigint generated always as identity primary key,
  tenant_id text,                                          -- null: the platform's, seen by every tenant
  type smallint not null check (type in (0, 1, 2)),        -- EventType
  severity smallint not null check (severity in (0, 1, 2)),-- EventSeverity
  title text not null,
  description text not null,
  at timestamptz not null
);
create index events_tenant on events (tenant_id, at desc, id desc);

do $$
declare t text;
begin
  foreach t in array array['pools', 'sims', 'memberships', 'active_spans', 'tickets', 'suspensions', 'ticket_work'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy own on %I to simherd_tenant using (tenant_id = app_tenant()) with check (tenant_id = app_tenant())', t);
    execute format('grant select, insert, update, delete on %I to simherd_tenant', t);
  end loop;
  foreach t in array array['tariffs', 'events'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy readable on %I for select to simherd_tenant using (tenant_id = app_tenant() or tenant_id is null)', t);
    execute format('create policy own on %I for insert to simherd_tenant with check (tenant_id = app_tenant())', t);
    execute format('create policy platform on %I to simherd_platform using (tenant_id is null) with check (tenant_id is null)', t);
    execute format('grant select, insert on %I to simherd_tenant, simherd_platform', t);
  end loop;
end $$;

create policy all_tenants on ticket_work to simherd_platform using (true) with check (true);
grant select, update on ticket_work to simherd_platform;
