-- What the watchdog looks at: subjects that have changed, many in a row of one table; and all subjects by ranges of ids,
-- each with the instant at which time alone may change an answer. Due marks stay for exact instants: the end of a `for`,
-- and the enforcement's next look.

create table changed_subjects (
  id bigint generated always as identity primary key,
  tenant_id text not null default app_tenant() references tenants (id),
  sim_ids bigint[] not null,
  pool_ids integer[] not null,
  claimed_until timestamptz,                               -- by an evaluation; null before the first
  constraint changed_subjects_size check (cardinality(sim_ids) + cardinality(pool_ids) <= 50000)
);
create index changed_subjects_tenant on changed_subjects (tenant_id, id);

create table watch_shards (
  tenant_id text not null default app_tenant() references tenants (id),
  subject_kind smallint not null check (subject_kind in (1, 2, 3)),  -- SubjectKind
  from_id bigint not null,
  to_id bigint,                                            -- not in it; null: no end
  next_at timestamptz not null,                            -- when to look at its subjects; the end of a lease
  rules_version integer,                                   -- of the rule set that was active at the last look
  asked bigint not null default 0,                         -- rises when a look is asked for
  primary key (tenant_id, subject_kind, from_id)
);
create index watch_shards_next on watch_shards (next_at);

alter table changed_subjects enable row level security;
alter table changed_subjects force row level security;
create policy own on changed_subjects to simherd_tenant using (tenant_id = app_tenant()) with check (tenant_id = app_tenant());
create policy all_tenants on changed_subjects to simherd_platform using (true);
grant select, insert, update, delete on changed_subjects to simherd_tenant;
grant select on changed_subjects to simherd_platform;

alter table watch_shards enable row level security;
alter table watch_shards force row level security;
create policy own on watch_shards to simherd_tenant using (tenant_id = app_tenant()) with check (tenant_id = app_tenant());
create policy all_tenants on watch_shards to simherd_platform using (true);
grant select, insert, update, delete on watch_shards to simherd_tenant;
grant select on watch_shards to simherd_platform;
