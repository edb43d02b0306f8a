-- Changes of the rules on their way to the tenants. Each tenant takes them in order, in a transaction of its own that
-- also notes the newest it has taken. Rows are never changed.
-- blocks: tenants, for a moment: a column with a constant default

create table rule_spreads (
  id bigint generated always as identity primary key,
  version integer not null references rule_sets (version), -- in force from then on, or tried beside what is
  shifts jsonb not null                                    -- rules that say something else, and to whom: RuleShift in store/rule-spreads.ts
);
alter table rule_spreads enable row level security;
alter table rule_spreads force row level security;
create policy readable on rule_spreads for select to simherd_tenant using (true);
create policy all_spreads on rule_spreads to simherd_platform using (true) with check (true);
grant select on rule_spreads to simherd_tenant;
grant select, insert on rule_spreads to simherd_platform;

alter table tenants add column rules_heard bigint not null default 0; -- id of the newest of rule_spreads that it has taken
