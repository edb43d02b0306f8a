-- Backtests that operators ask for: what rules would have done in a tenant's past. The platform's own; a worker does one at a time.

create table backtests (
  id bigint generated always as identity primary key,
  tenant_id text not null references tenants (id),         -- whose past
  version integer references rule_sets (version),          -- null: files that are not stored
  files jsonb,                                             -- their texts, until it has ended
  cycles integer not null,                                 -- how many of the billing cycles that had ended last
  actor text,                                              -- key:<id>; null: not known
  asked_at timestamptz not null,
  state text not null default 'queued' check (state in ('queued', 'running', 'done', 'failed')),
  starts integer not null default 0,                       -- how often it was begun; also which of them writes here
  started_at timestamptz,
  ended_at timestamptz,
  records bigint,                                          -- of usage, in all; null: not counted yet
  records_done bigint not null default 0,
  report jsonb,
  failure text
);
create index backtests_waiting on backtests (id) where state in ('queued', 'running');
create index backtests_asked on backtests (asked_at);

alter table backtests enable row level security;
alter table backtests force row level security;
create policy all_backtests on backtests to simherd_platform using (true) with check (true);
grant select, insert, update, delete on backtests to simherd_platform;
