-- The version that is tried beside the one in force. Rows are never changed. The newest counts, as long as it does not say that
-- it has ended and its activation is the newest: whatever is put in force ends the candidacy, whoever does it.

create table rule_candidates (
  id bigint generated always as identity primary key,
  version integer not null references rule_sets (version),
  activation bigint references rule_activations (id),      -- the newest then; null: nothing was in force
  ended boolean not null,                                  -- true: it was taken back
  at timestamptz not null,
  author text not null,                                    -- as the caller gave it
  actor text,                                              -- key:<id>; null: not known
  reason text,                                             -- null: none was given
  request_id text
);

alter table rule_candidates enable row level security;
alter table rule_candidates force row level security;
create policy readable on rule_candidates for select to simherd_tenant using (true);
create policy all_candidates on rule_candidates to simherd_platform using (true) with check (true);
grant select on rule_candidates to simherd_tenant;
grant select, insert on rule_candidates to simherd_platform;
