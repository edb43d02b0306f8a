-- Usage: the records themselves, what they add up to per cycle, SIM and pool, and time buckets.

-- One row a usage record; (record id, time) is its identity within the tenant.
create table usage_records (
  tenant_id text not null default app_tenant(),
  record_id text not null,
  at timestamptz not null,
  sim_id bigint not null,
  pool_id integer not null,                                -- the pool at that time; 0: none
  cycle_key text not null,
  bytes_up bigint not null,
  bytes_down bigint not null,
  voice_seconds bigint not null,
  sms_count bigint not null,
  imei text,
  correction boolean not null default false,
  received_at timestamptz not null,
  primary key (tenant_id, record_id, at)
) partition by range (at);
-- Records outside every monthly partition (store/partitions.ts) are kept here, never lost.
create table usage_records_default partition of usage_records default;
create index usage_records_sim on usage_records (sim_id, at);

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
  primary key (tenant_id, key)
);

-- The ledger: one row a (cycle, SIM, pool or 0).
create table usage_ledger (
  tenant_id text not null default app_tenant(),
  cycle_key text not null,
  sim_id bigint not null,
  pool_id integer not null,
  tariff_id integer,                                       -- the SIM's own, last one in force in this cycle and pool
  contributing boolean not null default false,             -- was Active here at some moment of the cycle
  bytes bigint not null default 0 check (bytes >= 0),
  voice_seconds bigint not null default 0 check (voice_seconds >= 0),
  sms_count bigint not null default 0 check (sms_count >= 0),
  overage_bytes bigint not null default 0,                 -- shared pools: this row's part, as of the pool's divided_version
  primary key (tenant_id, cycle_key, sim_id, pool_id)
);
create index usage_ledger_pool on usage_ledger (tenant_id, cycle_key, pool_id);

-- Totals of a pool in a cycle, kept by every statement that touches its ledger rows.
create table pool_cycles (
  tenant_id text not null default app_tenant(),
  cycle_key text not null,
  pool_id integer not null,
  bytes bigint not null default 0,
  voice_seconds bigint not null default 0,
  sms_count bigint not null default 0,
  contributing integer not null default 0,                 -- SIMs
  usage_version bigint not null default 1,
  divided_version bigint not null default 0,               -- the usage version the rows' overage was divided for
  limit_bytes bigint not null default 0,                   -- as of divided_version
  overage_bytes bigint not null default 0,                 -- as of divided_version
  remaining_bytes bigint not null default 0,               -- as of divided_version
  primary key (tenant_id, cycle_key, pool_id)
);

-- Usage by time, for window facts. Kind: 1 SIM, 2 pool, 3 tenant (subject 0).
create table usage_buckets (
  tenant_id text not null default app_tenant(),
  subject_kind smallint not null check (subject_kind in (1, 2, 3)),
  subject_id bigint not null,
  starts_at timestamptz not null,
  bytes bigint not null default 0,
  voice_seconds bigint not null default 0,
  sms_count bigint not null default 0,
  primary key (tenant_id, subject_kind, subject_id, starts_at)
);

-- Work list of the watchdog: subjects to evaluate, and from when on.
create table due_subjects (
  tenant_id text not null default app_tenant(),
  subject_kind smallint not null check (subject_kind in (1, 2, 3)),
  subject_id bigint not null,
  due_at timestamptz not null,
  seq bigint not null,                                     -- changes with every mark: an evaluation clears only the mark it read
  primary key (tenant_id, subject_kind, subject_id)
);
create index due_subjects_due on due_subjects (tenant_id, due_at);
create sequence due_seq;

do $$
declare t text;
begin
  foreach t in array array['usage_records', 'cycles', 'usage_ledger', 'pool_cycles', 'usage_buckets', 'due_subjects'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy own on %I to simherd_tenant using (tenant_id = app_tenant()) with check (tenant_id = app_tenant())', t);
    execute format('grant select, insert, update, delete on %I to simherd_tenant', t);
  end loop;
end $$;
create policy all_tenants on due_subjects to simherd_platform using (true);
grant select on due_subjects to simherd_platform;
grant usage on sequence due_seq to simherd_tenant;
