-- Batches of SIMs to take from unprovisioned to active: what was asked for, and what has become of each SIM. The workflow
-- provision-in-bulk pages through the list and writes outcomes back.

create table provision_batches (
  id uuid primary key,
  tenant_id text not null default app_tenant() references tenants,
  parallel integer not null check (parallel between 1 and 200),  -- most SIMs under way at once
  total integer not null default 0,
  created_at timestamptz not null,
  ended_at timestamptz                                     -- since then no SIM of it waits
);
create index provision_batches_tenant on provision_batches (tenant_id, created_at desc);

create table provision_batch_sims (
  tenant_id text not null default app_tenant(),
  batch_id uuid not null references provision_batches,
  index integer not null,                                  -- place in the request, from 0
  sim_id bigint,                                           -- null: there is no such SIM
  named text,                                              -- what the request called a SIM that is not there
  pool_id bigint,                                          -- the target; null: none
  tariff_id bigint,
  tag text,                                                -- applied on completion
  outcome text not null check (outcome in
    ('refused', 'waiting', 'running', 'activated', 'alreadyActive', 'compensated', 'cancelled', 'failed')),
  provision_ticket uuid,
  activate_ticket uuid,
  unassign_ticket uuid,
  step text,                                               -- refused, compensated, failed: where, and why
  code text,
  detail text,
  ended_at timestamptz,
  primary key (batch_id, index)
);
create index provision_batch_sims_outcome on provision_batch_sims (batch_id, outcome, index);
-- A batch takes a SIM to Active once.
create unique index provision_batch_sims_once on provision_batch_sims (batch_id, sim_id) where outcome <> 'refused';

do $$
declare t text;
begin
  foreach t in array array['provision_batches', 'provision_batch_sims'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy own on %I to simherd_tenant using (tenant_id = app_tenant()) with check (tenant_id = app_tenant())', t);
    execute format('grant select, insert, update on %I to simherd_tenant', t);
  end loop;
end $$;
