-- Stages that were set without a new file. The newest row of a rule counts, as long as its file says the stage it said then.

create table rule_stages (
  id bigint generated always as identity primary key,
  rule text not null,
  stage text not null check (stage in ('off', 'shadow', 'log', 'notify', 'enforce')),
  file_stage text not null,                                -- what the rule's file said then
  version integer not null references rule_sets (version), -- in force then
  at timestamptz not null,
  author text not null,                                    -- as the caller gave it
  actor text,                                              -- key:<id>; null: not known
  reason text,                                             -- null: none was given
  request_id text
);
create index rule_stages_rule on rule_stages (rule, id desc);

alter table rule_stages enable row level security;
alter table rule_stages force row level security;
create policy readable on rule_stages for select to simherd_tenant using (true);
create policy all_stages on rule_stages to simherd_platform using (true) with check (true);
grant select on rule_stages to simherd_tenant;
grant select, insert on rule_stages to simherd_platform;
