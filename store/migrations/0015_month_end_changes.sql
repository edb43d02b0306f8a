-- What a month end does: a row for each change that was queued before a cycle's end, and for each suspended SIM that
-- the month end brings back by itself. It keeps a change from being carried out twice, and says what became of it.

create table month_end_changes (
  tenant_id text not null default app_tenant() references tenants,
  cycle_key text not null,                                 -- the cycle that ends
  kind text not null check (kind in ('unassign', 'move', 'return')),
  sim_id bigint not null references sims,
  ticket_id uuid,                                          -- the last one; null where none could be opened
  outcome text not null check (outcome in ('open', 'complete', 'failed')),
  code text,                                               -- failed: why
  detail text,
  attempts integer not null default 1,                     -- tickets and refusals so far
  primary key (tenant_id, cycle_key, kind, sim_id)
);
-- Progress is counted, and what failed is paged, without a look at the table.
create index month_end_changes_outcome on month_end_changes (tenant_id, cycle_key, kind, outcome, sim_id);
create unique index month_end_changes_ticket on month_end_changes (ticket_id) where ticket_id is not null;
create index month_end_changes_open on month_end_changes (sim_id) where outcome = 'open';

-- Suspensions until the renewal that have ended: those of the last hours are counted while SIMs come back.
create index suspensions_renewed on suspensions (tenant_id, closed_at)
  where cause = 'watchdog' and until = 'renewal' and closed_at is not null;

alter table month_end_changes enable row level security;
alter table month_end_changes force row level security;
create policy own on month_end_changes to simherd_tenant
  using (tenant_id = app_tenant()) with check (tenant_id = app_tenant());
grant select, insert, update on month_end_changes to simherd_tenant;
