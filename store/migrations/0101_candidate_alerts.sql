-- Alert states of a candidate's rules. They are of its candidacy: what is left of an earlier one is not read, and deleted in time.

create table candidate_alerts (
  tenant_id text not null default app_tenant() references tenants (id),
  candidacy bigint not null references rule_candidates (id),
  rule text not null,                                      -- its name, @, and the version
  subject_kind smallint not null check (subject_kind in (1, 2, 3)),
  subject_id bigint not null,
  scope text not null,
  state jsonb not null,
  firing boolean not null,
  rule_version integer not null,
  evaluated_at timestamptz not null,
  explanation jsonb,
  primary key (tenant_id, subject_kind, subject_id, candidacy, rule, scope)
);
create index candidate_alerts_candidacy on candidate_alerts (candidacy);

alter table candidate_alerts enable row level security;
alter table candidate_alerts force row level security;
create policy own on candidate_alerts to simherd_tenant using (tenant_id = app_tenant()) with check (tenant_id = app_tenant());
create policy all_tenants on candidate_alerts to simherd_platform using (true);
grant select, insert, update, delete on candidate_alerts to simherd_tenant;
grant select (tenant_id, candidacy, subject_kind, subject_id, rule, scope), delete on candidate_alerts to simherd_platform;
