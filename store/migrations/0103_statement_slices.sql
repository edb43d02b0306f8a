-- A statement is written in slices, each a transaction.

-- How far a statement has come, a row for each cycle that is being closed.
create table statement_progress (
  tenant_id text not null default app_tenant() references tenants (id),
  cycle_key text not null,
  adjusts text not null,                                   -- the closed cycle whose changes come next; '': the cycle's own lines
  pool_id integer not null,                                -- the last that is stated (0: outside pools); -1: none
  sim_id bigint not null,                                  -- the last that is stated of the pool; 2^53 - 1: all
  primary key (tenant_id, cycle_key)
);

-- What a statement's lines add up to, by pool and by the cycle that they are about. Money in micro-units.
create table statement_parts (
  tenant_id text not null default app_tenant() references tenants (id),
  cycle_key text not null,
  adjusts text not null,                                   -- the closed cycle that adjustments are about; '': the cycle's own lines
  pool_id integer not null,                                -- 0: outside pools
  pool_name text not null,
  usage_version bigint not null,                           -- of pool_cycles, when the first line of the pool was written
  lines integer not null,
  bytes bigint not null,                                   -- of the lines of SIMs
  voice_seconds bigint not null,                           -- of the lines of SIMs
  sms_count bigint not null,                               -- of the lines of SIMs
  limit_bytes bigint not null,                             -- of the pool's own line, or else of the lines of SIMs
  overage_bytes bigint not null,                           -- of the lines of SIMs
  charge_micro bigint not null,                            -- of all lines
  line_id bigint,                                          -- kept for the pool's own line, where that is written last; else null
  primary key (tenant_id, cycle_key, adjusts, pool_id)
);

alter table statement_progress enable row level security;
alter table statement_progress force row level security;
create policy own on statement_progress for all to simherd_tenant
  using (tenant_id = app_tenant()) with check (tenant_id = app_tenant());
grant select, insert, update, delete on statement_progress to simherd_tenant;

alter table statement_parts enable row level security;
alter table statement_parts force row level security;
create policy own on statement_parts for all to simherd_tenant
  using (tenant_id = app_tenant()) with check (tenant_id = app_tenant());
grant select, insert, update on statement_parts to simherd_tenant;

-- The own line of a pool comes before those of its SIMs. Where it is written after them, it gets an id that was kept for it.
grant usage on sequence statements_id_seq to simherd_tenant;

-- When the last line of the statement was written. From then on the cycle's alerts are left alone, as in a closed one.
alter table cycles add column stated_at timestamptz;
