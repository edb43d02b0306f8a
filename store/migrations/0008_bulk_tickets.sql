-- Bulk runs: one ask of a person for many SIMs. The request fixes the SIMs; a worker opens their tickets in batches.

create table bulk_tickets (
  id uuid primary key,
  tenant_id text not null default app_tenant() references tenants,
  seq bigint generated always as identity,                 -- order of acceptance: a tenant's runs are opened one by one
  type text not null check (type in ('activate', 'suspend', 'refresh', 'send-sms', 'provision', 'unassign')),
  pool_id integer,                                         -- provisioning: the target
  tariff_id integer,
  tag text,                                                -- provisioning: applied on completion
  message text,                                            -- Send SMS
  state text not null check (state in ('opening', 'opened', 'cancelling', 'cancelled')),
  created_at timestamptz not null,
  opened_at timestamptz,                                   -- since then no SIM waits for its ticket
  total integer not null default 0,                        -- items; what is neither of these three has a ticket
  waiting integer not null default 0,
  refused integer not null default 0,
  dropped integer not null default 0                       -- cancelled before their tickets were opened
);
create index bulk_tickets_tenant on bulk_tickets (tenant_id, seq desc);
create index bulk_tickets_open on bulk_tickets (tenant_id, seq) where state in ('opening', 'cancelling');

create table bulk_ticket_items (
  tenant_id text not null default app_tenant(),
  bulk_id uuid not null references bulk_tickets,
  index integer not null,                                  -- place in the request, from 0
  sim_id bigint,                                           -- null: there is no such SIM
  named text,                                              -- what the request called a SIM that is not there
  outcome text not null check (outcome in ('waiting', 'opened', 'refused', 'dropped')),
  code text,                                               -- refused: why
  detail text,
  primary key (bulk_id, index)
);
create unique index bulk_ticket_items_waiting on bulk_ticket_items (bulk_id, sim_id) where outcome = 'waiting';

-- The run a ticket belongs to. Unique: a run opens one ticket on a SIM, whoever opens it twice.
alter table tickets add column bulk_id uuid references bulk_tickets;
create unique index tickets_bulk on tickets (bulk_id, sim_id) where bulk_id is not null;
create index tickets_bulk_status on tickets (bulk_id, status) where bulk_id is not null;

-- Work list: runs with tickets to open or to cancel. The queue's job only rings the bell.
create table bulk_work (
  tenant_id text not null default app_tenant(),
  bulk_id uuid not null,
  due_at timestamptz not null,
  primary key (tenant_id, bulk_id)
);
create index bulk_work_due on bulk_work (due_at);

do $$
declare t text;
begin
  foreach t in array array['bulk_tickets', 'bulk_ticket_items', 'bulk_work'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy own on %I to simherd_tenant using (tenant_id = app_tenant()) with check (tenant_id = app_tenant())', t);
    execute format('grant select, insert, update, delete on %I to simherd_tenant', t);
  end loop;
end $$;
revoke delete on bulk_tickets, bulk_ticket_items from simherd_tenant;
create policy all_tenants on bulk_work to simherd_platform using (true);
grant select on bulk_work to simherd_platform;
