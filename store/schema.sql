-- The schema as the migrations leave it: made by `npm run schema`, compared in test/store/. Do not edit.

create table active_spans (
  id bigint generated always as identity not null,
  tenant_id text default app_tenant() not null,
  sim_id bigint not null,
  from_at timestamp with time zone not null,
  to_at timestamp with time zone,
  constraint active_spans_pkey PRIMARY KEY (id),
  constraint active_spans_sim_id_tenant FOREIGN KEY (tenant_id, sim_id) REFERENCES sims(tenant_id, id)
) with (autovacuum_analyze_scale_factor=0.02, autovacuum_analyze_threshold=1000);
CREATE INDEX active_spans_longest ON public.active_spans USING btree (tenant_id, from_at) WHERE (to_at IS NULL);
CREATE UNIQUE INDEX active_spans_open ON public.active_spans USING btree (sim_id) WHERE (to_at IS NULL);
CREATE INDEX active_spans_sim ON public.active_spans USING btree (sim_id, from_at);
alter table active_spans enable row level security;
alter table active_spans force row level security;
create policy own on active_spans for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select, update on active_spans to simherd_tenant;

create table addresses (
  id integer generated always as identity not null,
  tenant_id text default app_tenant() not null,
  kind text not null,
  email text not null,
  level smallint,
  rules text,
  confirmed_at timestamp with time zone,
  bad_since timestamp with time zone,
  created_at timestamp with time zone not null,
  created_by text,
  constraint addresses_pkey PRIMARY KEY (id),
  constraint addresses_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint addresses_kind_check CHECK ((kind = ANY (ARRAY['billing'::text, 'copy'::text, 'escalation'::text]))),
  constraint addresses_level_check CHECK ((level = ANY (ARRAY[0, 1, 2])))
);
CREATE UNIQUE INDEX addresses_email ON public.addresses USING btree (tenant_id, kind, lower(email));
CREATE INDEX addresses_of ON public.addresses USING btree (lower(email));
alter table addresses enable row level security;
alter table addresses force row level security;
create policy figures on addresses for select to simherd_platform using (true);
create policy own on addresses for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select, update on addresses to simherd_tenant;
grant select (bad_since, email, kind, tenant_id) on addresses to simherd_platform;

create table alerts (
  id bigint generated always as identity not null,
  tenant_id text default app_tenant() not null,
  rule text not null,
  subject_kind smallint not null,
  subject_id bigint not null,
  scope text not null,
  state jsonb not null,
  firing boolean not null,
  asked text,
  asked_at timestamp with time zone,
  rule_version integer not null,
  evaluated_at timestamp with time zone not null,
  explanation jsonb not null,
  constraint alerts_pkey PRIMARY KEY (tenant_id, rule, subject_kind, subject_id, scope),
  constraint alerts_subject_kind_check CHECK ((subject_kind = ANY (ARRAY[1, 2, 3, 4])))
) with (autovacuum_analyze_scale_factor=0.02, autovacuum_analyze_threshold=1000);
CREATE INDEX alerts_held ON public.alerts USING btree (tenant_id, ((state #>> '{guard,hold}'::text[])), id) WHERE ((state #>> '{guard,is}'::text[]) = 'held'::text);
CREATE UNIQUE INDEX alerts_id ON public.alerts USING btree (tenant_id, id);
CREATE INDEX alerts_not_ended ON public.alerts USING btree (tenant_id, id) WHERE ((state ->> 'phase'::text) = ANY (ARRAY['pending'::text, 'firing'::text, 'recovering'::text]));
CREATE INDEX alerts_not_ended_of_rule ON public.alerts USING btree (tenant_id, rule, id) WHERE (firing OR ((state ->> 'phase'::text) = 'pending'::text));
CREATE INDEX alerts_subject ON public.alerts USING btree (tenant_id, subject_kind, subject_id);
alter table alerts enable row level security;
alter table alerts force row level security;
create policy own on alerts for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select, update on alerts to simherd_tenant;

create table api_keys (
  id text not null,
  tenant_id text,
  name text not null,
  scopes text[] not null,
  secret_hash bytea not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  last_used_at timestamp with time zone,
  replaced_by text,
  contact text,
  constraint api_keys_pkey PRIMARY KEY (id),
  constraint api_keys_replaced_by_fkey FOREIGN KEY (replaced_by) REFERENCES api_keys(id),
  constraint api_keys_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE UNIQUE INDEX api_keys_contact ON public.api_keys USING btree (tenant_id, lower(contact)) WHERE ((contact IS NOT NULL) AND (revoked_at IS NULL) AND (replaced_by IS NULL));
CREATE INDEX api_keys_tenant ON public.api_keys USING btree (tenant_id, created_at);
CREATE TRIGGER api_keys_told AFTER DELETE OR UPDATE OF id, tenant_id, scopes, secret_hash, expires_at, revoked_at ON public.api_keys FOR EACH ROW EXECUTE FUNCTION notify_caller_change('key');
alter table api_keys enable row level security;
alter table api_keys force row level security;
create policy all_keys on api_keys for all to simherd_platform using (true) with check (true);
create policy named on api_keys for select to simherd_tenant using ( CASE WHEN ((tenant_id = ( SELECT app_tenant() AS app_tenant)) OR (tenant_id IS NULL)) THEN true ELSE NULL::boolean END);
grant insert, select, update on api_keys to simherd_platform;
grant select (id, name, tenant_id) on api_keys to simherd_tenant;

create table audit_log (
  id bigint generated always as identity not null,
  tenant_id text,
  at timestamp with time zone not null,
  key_id text,
  request_id text not null,
  action text not null,
  subject text not null,
  subject_id text not null,
  before jsonb,
  after jsonb,
  workflow_id text,
  actor text not null,
  constraint audit_log_pkey PRIMARY KEY (id)
);
CREATE INDEX audit_log_subject ON public.audit_log USING btree (tenant_id, subject, subject_id, id DESC);
CREATE INDEX audit_log_tenant ON public.audit_log USING btree (tenant_id, id DESC);
CREATE INDEX audit_log_workflow ON public.audit_log USING btree (tenant_id, workflow_id, id DESC) WHERE (workflow_id IS NOT NULL);
alter table audit_log enable row level security;
alter table audit_log force row level security;
create policy own on audit_log for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
create policy own_read on audit_log for select to simherd_platform using ((tenant_id IS NULL));
create policy written_of_all on audit_log for insert to simherd_platform with check (true);
grant insert, select on audit_log to simherd_platform;
grant insert, select on audit_log to simherd_tenant;

create table backtests (
  id bigint generated always as identity not null,
  tenant_id text not null,
  version integer,
  files jsonb,
  cycles integer not null,
  actor text,
  asked_at timestamp with time zone not null,
  state text default 'queued'::text not null,
  starts integer default 0 not null,
  started_at timestamp with time zone,
  ended_at timestamp with time zone,
  records bigint,
  records_done bigint default 0 not null,
  report jsonb,
  failure text,
  constraint backtests_pkey PRIMARY KEY (id),
  constraint backtests_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint backtests_version_fkey FOREIGN KEY (version) REFERENCES rule_sets(version),
  constraint backtests_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'running'::text, 'done'::text, 'failed'::text])))
);
CREATE INDEX backtests_asked ON public.backtests USING btree (asked_at);
CREATE INDEX backtests_waiting ON public.backtests USING btree (id) WHERE (state = ANY (ARRAY['queued'::text, 'running'::text]));
alter table backtests enable row level security;
alter table backtests force row level security;
create policy all_backtests on backtests for all to simherd_platform using (true) with check (true);
grant delete, insert, select, update on backtests to simherd_platform;

create table bulk_items (
  tenant_id text default app_tenant() not null,
  bulk_id uuid not null,
  index integer not null,
  sim_id bigint,
  named text,
  pool_id bigint,
  tariff_id bigint,
  tag text,
  outcome text not null,
  provision_ticket uuid,
  activate_ticket uuid,
  unassign_ticket uuid,
  step text,
  code text,
  detail text,
  ended_at timestamp with time zone,
  constraint bulk_items_pkey PRIMARY KEY (bulk_id, index),
  constraint bulk_items_bulk_id_tenant FOREIGN KEY (tenant_id, bulk_id) REFERENCES bulk_runs(tenant_id, id),
  constraint bulk_items_outcome_check CHECK ((outcome = ANY (ARRAY['waiting'::text, 'refused'::text, 'opened'::text, 'running'::text, 'activated'::text, 'alreadyActive'::text, 'compensated'::text, 'cancelled'::text, 'failed'::text])))
);
CREATE INDEX bulk_items_outcome ON public.bulk_items USING btree (bulk_id, outcome, index);
CREATE UNIQUE INDEX bulk_items_waiting ON public.bulk_items USING btree (bulk_id, sim_id) WHERE (outcome = 'waiting'::text);
alter table bulk_items enable row level security;
alter table bulk_items force row level security;
create policy own on bulk_items for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant insert, select, update on bulk_items to simherd_tenant;

create table bulk_runs (
  id uuid not null,
  tenant_id text default app_tenant() not null,
  seq bigint generated always as identity not null,
  type text not null,
  pool_id integer,
  tariff_id integer,
  tag text,
  message text,
  parallel integer,
  state text default 'opened'::text not null,
  created_at timestamp with time zone not null,
  done_at timestamp with time zone,
  total integer default 0 not null,
  waiting integer default 0 not null,
  refused integer default 0 not null,
  constraint bulk_runs_pkey PRIMARY KEY (id),
  constraint bulk_runs_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint bulk_runs_check CHECK (((type = 'provision-and-activate'::text) = (parallel IS NOT NULL))),
  constraint bulk_runs_parallel_check CHECK (((parallel >= 1) AND (parallel <= 200))),
  constraint bulk_runs_state_check CHECK ((state = ANY (ARRAY['opening'::text, 'opened'::text, 'cancelling'::text, 'cancelled'::text]))),
  constraint bulk_runs_type_check CHECK ((type = ANY (ARRAY['activate'::text, 'suspend'::text, 'refresh'::text, 'send-sms'::text, 'provision'::text, 'unassign'::text, 'provision-and-activate'::text])))
);
CREATE INDEX bulk_runs_of_tickets ON public.bulk_runs USING btree (tenant_id, seq DESC) WHERE (type <> 'provision-and-activate'::text);
CREATE INDEX bulk_runs_open ON public.bulk_runs USING btree (tenant_id, seq) WHERE (state = ANY (ARRAY['opening'::text, 'cancelling'::text]));
CREATE UNIQUE INDEX bulk_runs_tenant_id ON public.bulk_runs USING btree (tenant_id, id);
alter table bulk_runs enable row level security;
alter table bulk_runs force row level security;
create policy own on bulk_runs for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant insert, select, update on bulk_runs to simherd_tenant;

create table bulk_work (
  tenant_id text default app_tenant() not null,
  bulk_id uuid not null,
  due_at timestamp with time zone not null,
  constraint bulk_work_pkey PRIMARY KEY (tenant_id, bulk_id)
);
CREATE INDEX bulk_work_due ON public.bulk_work USING btree (due_at);
alter table bulk_work enable row level security;
alter table bulk_work force row level security;
create policy all_tenants on bulk_work for all to simherd_platform using (true);
create policy own on bulk_work for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select, update on bulk_work to simherd_tenant;
grant select on bulk_work to simherd_platform;

create table carrier_refusals (
  credential text not null,
  since timestamp with time zone not null,
  probes integer not null,
  probe_at timestamp with time zone not null,
  told_at timestamp with time zone,
  ended_at timestamp with time zone,
  constraint carrier_refusals_pkey PRIMARY KEY (credential)
);
alter table carrier_refusals enable row level security;
alter table carrier_refusals force row level security;
create policy all_refusals on carrier_refusals for all to simherd_platform using (true) with check (true);
create policy readable on carrier_refusals for select to simherd_tenant using (true);
grant insert, select, update on carrier_refusals to simherd_platform;
grant select on carrier_refusals to simherd_tenant;

create table changed_subjects (
  id bigint generated always as identity not null,
  tenant_id text default app_tenant() not null,
  sim_ids bigint[] not null,
  pool_ids integer[] not null,
  claimed_until timestamp with time zone,
  cycle_key text,
  due_at timestamp with time zone,
  constraint changed_subjects_pkey PRIMARY KEY (id),
  constraint changed_subjects_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint changed_subjects_size CHECK (((cardinality(sim_ids) + cardinality(pool_ids)) <= 50000))
);
CREATE INDEX changed_subjects_tenant ON public.changed_subjects USING btree (tenant_id, id);
alter table changed_subjects enable row level security;
alter table changed_subjects force row level security;
create policy all_tenants on changed_subjects for all to simherd_platform using (true);
create policy own on changed_subjects for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select, update on changed_subjects to simherd_tenant;
grant select on changed_subjects to simherd_platform;

create table cycle_openings (
  tenant_id text default app_tenant() not null,
  cycle_key text not null,
  opened_to bigint default 0 not null,
  constraint cycle_openings_pkey PRIMARY KEY (tenant_id, cycle_key),
  constraint cycle_openings_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
alter table cycle_openings enable row level security;
alter table cycle_openings force row level security;
create policy own on cycle_openings for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select, update on cycle_openings to simherd_tenant;

create table cycles (
  tenant_id text default app_tenant() not null,
  key text not null,
  starts_at timestamp with time zone not null,
  ends_at timestamp with time zone not null,
  opened_at timestamp with time zone not null,
  closed_at timestamp with time zone,
  records_accepted bigint default 0 not null,
  records_duplicate bigint default 0 not null,
  records_rejected bigint default 0 not null,
  version bigint default 1 not null,
  bytes bigint default 0 not null,
  voice_seconds bigint default 0 not null,
  sms_count bigint default 0 not null,
  stated_at timestamp with time zone,
  constraint cycles_pkey PRIMARY KEY (tenant_id, key),
  constraint cycles_total CHECK ((GREATEST(abs(bytes), abs(voice_seconds), abs(sms_count)) <= '9000000000000000'::bigint))
);
alter table cycles enable row level security;
alter table cycles force row level security;
create policy own on cycles for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select, update on cycles to simherd_tenant;

create table deliveries (
  id bigint generated always as identity not null,
  tenant_id text default app_tenant() not null,
  status text default 'pending'::text not null,
  attempts integer default 0 not null,
  next_attempt_at timestamp with time zone not null,
  tried_since timestamp with time zone,
  refused_at timestamp with time zone,
  answer integer,
  response text,
  created_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  webhook_id integer,
  event_id text,
  mail_id text,
  recipient text,
  subject text default ''::text not null,
  kind text,
  resends text,
  address_id integer,
  copy_of text,
  repeats text generated always as (COALESCE(resends, copy_of)) stored,
  constraint deliveries_pkey PRIMARY KEY (id),
  constraint deliveries_mail_id_key UNIQUE (mail_id),
  constraint deliveries_tenant_id_event_id_fkey FOREIGN KEY (tenant_id, event_id) REFERENCES webhook_events(tenant_id, id) ON DELETE CASCADE,
  constraint deliveries_tenant_id_webhook_id_fkey FOREIGN KEY (tenant_id, webhook_id) REFERENCES webhooks(tenant_id, id) ON DELETE CASCADE,
  constraint deliveries_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'sent'::text, 'failed'::text]))),
  constraint deliveries_whole CHECK (
CASE
    WHEN (webhook_id IS NULL) THEN ((event_id IS NULL) AND (num_nulls(mail_id, recipient, kind) = 0))
    ELSE ((event_id IS NOT NULL) AND (num_nonnulls(mail_id, recipient, kind) = 0))
END)
);
CREATE INDEX deliveries_due ON public.deliveries USING btree (tenant_id, webhook_id, next_attempt_at) WHERE ((status = 'pending'::text) AND (webhook_id IS NOT NULL));
CREATE INDEX deliveries_event ON public.deliveries USING btree (tenant_id, event_id) WHERE (event_id IS NOT NULL);
CREATE INDEX deliveries_mails ON public.deliveries USING btree (tenant_id, created_at DESC) WHERE (mail_id IS NOT NULL);
CREATE INDEX deliveries_mails_due ON public.deliveries USING btree (tenant_id, created_at) WHERE ((status = 'pending'::text) AND (mail_id IS NOT NULL));
CREATE INDEX deliveries_repeats ON public.deliveries USING btree (repeats) WHERE (repeats IS NOT NULL);
CREATE INDEX deliveries_webhook ON public.deliveries USING btree (tenant_id, webhook_id, id DESC) WHERE (webhook_id IS NOT NULL);
alter table deliveries enable row level security;
alter table deliveries force row level security;
create policy all_tenants on deliveries for select to simherd_platform using (true);
create policy own on deliveries for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant insert, select, update on deliveries to simherd_tenant;
grant select (created_at, event_id, mail_id, next_attempt_at, status, tenant_id, tried_since, webhook_id) on deliveries to simherd_platform;

create table device_changes (
  tenant_id text default app_tenant() not null,
  sim_id bigint not null,
  n integer not null,
  imei text not null,
  at timestamp with time zone not null,
  recorded_at timestamp with time zone not null,
  constraint device_changes_pkey PRIMARY KEY (tenant_id, sim_id, n)
);
alter table device_changes enable row level security;
alter table device_changes force row level security;
create policy own on device_changes for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant insert, select on device_changes to simherd_tenant;

create table due_subjects (
  tenant_id text default app_tenant() not null,
  subject_kind smallint not null,
  subject_id bigint not null,
  due_at timestamp with time zone not null,
  seq bigint not null,
  failures integer default 0 not null,
  not_before timestamp with time zone,
  constraint due_subjects_pkey PRIMARY KEY (tenant_id, subject_kind, subject_id),
  constraint due_subjects_subject_kind_check CHECK ((subject_kind = ANY (ARRAY[1, 2, 3, 4])))
);
CREATE INDEX due_subjects_due ON public.due_subjects USING btree (tenant_id, due_at);
CREATE INDEX due_subjects_held_back ON public.due_subjects USING btree (tenant_id) WHERE (not_before IS NOT NULL);
alter table due_subjects enable row level security;
alter table due_subjects force row level security;
create policy all_tenants on due_subjects for all to simherd_platform using (true);
create policy own on due_subjects for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select, update on due_subjects to simherd_tenant;
grant select on due_subjects to simherd_platform;

create table events (
  id bigint generated always as identity not null,
  tenant_id text,
  type smallint not null,
  severity smallint not null,
  title text not null,
  description text not null,
  at timestamp with time zone not null,
  constraint events_pkey PRIMARY KEY (id),
  constraint events_severity_check CHECK ((severity = ANY (ARRAY[0, 1, 2]))),
  constraint events_type_check CHECK ((type = ANY (ARRAY[0, 1, 2])))
);
CREATE INDEX events_tenant ON public.events USING btree (tenant_id, at DESC, id DESC);
alter table events enable row level security;
alter table events force row level security;
create policy own on events for insert to simherd_tenant with check ((tenant_id = app_tenant()));
create policy platform on events for all to simherd_platform using ((tenant_id IS NULL)) with check ((tenant_id IS NULL));
create policy readable on events for select to simherd_tenant using ( CASE WHEN ((tenant_id = ( SELECT app_tenant() AS app_tenant)) OR (tenant_id IS NULL)) THEN true ELSE NULL::boolean END);
grant insert, select on events to simherd_platform;
grant insert, select on events to simherd_tenant;

create table guard_counts (
  tenant_id text default app_tenant() not null,
  what text not null,
  rule text not null,
  rule_version integer not null,
  pool_id integer not null,
  minute timestamp with time zone not null,
  passed integer not null,
  constraint guard_counts_pkey PRIMARY KEY (tenant_id, what, rule, rule_version, pool_id, minute),
  constraint guard_counts_what_check CHECK ((what = ANY (ARRAY['alerts'::text, 'suspensions'::text, 'would'::text])))
);
alter table guard_counts enable row level security;
alter table guard_counts force row level security;
create policy own on guard_counts for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select, update on guard_counts to simherd_tenant;

create table guard_holds (
  id bigint generated always as identity not null,
  tenant_id text default app_tenant() not null,
  rule text not null,
  rule_version integer not null,
  pool_id integer,
  cycle_key text not null,
  cycle_ends_at timestamp with time zone not null,
  suspended integer not null,
  allowed integer not null,
  state text default 'held'::text not null,
  opened_at timestamp with time zone not null,
  decided_at timestamp with time zone,
  decided_by text,
  what text default 'suspensions'::text not null,
  subjects integer,
  constraint guard_holds_pkey PRIMARY KEY (id),
  constraint guard_holds_state_check CHECK ((state = ANY (ARRAY['held'::text, 'released'::text, 'discarded'::text]))),
  constraint guard_holds_what_check CHECK ((what = ANY (ARRAY['suspensions'::text, 'alerts'::text])))
);
CREATE UNIQUE INDEX guard_holds_open ON public.guard_holds USING btree (tenant_id, rule, rule_version, cycle_key, COALESCE(pool_id, 0)) WHERE (state = 'held'::text);
CREATE UNIQUE INDEX guard_holds_tenant_id ON public.guard_holds USING btree (tenant_id, id);
alter table guard_holds enable row level security;
alter table guard_holds force row level security;
create policy figures on guard_holds for select to simherd_platform using (true);
create policy own on guard_holds for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant insert, select, update on guard_holds to simherd_tenant;
grant select (cycle_ends_at, state) on guard_holds to simherd_platform;

create table guard_permits (
  id bigint generated always as identity not null,
  tenant_id text default app_tenant() not null,
  rule text not null,
  rule_version integer not null,
  pool_id integer,
  cycle_key text not null,
  sim_id bigint not null,
  workflow_id text not null,
  state text not null,
  hold_id bigint,
  at timestamp with time zone not null,
  over_at timestamp with time zone,
  constraint guard_permits_pkey PRIMARY KEY (id),
  constraint guard_permits_hold_id_tenant FOREIGN KEY (tenant_id, hold_id) REFERENCES guard_holds(tenant_id, id),
  constraint guard_permits_state_check CHECK ((state = ANY (ARRAY['granted'::text, 'held'::text, 'discarded'::text])))
);
CREATE INDEX guard_permits_hold ON public.guard_permits USING btree (hold_id) WHERE (hold_id IS NOT NULL);
CREATE UNIQUE INDEX guard_permits_open ON public.guard_permits USING btree (tenant_id, sim_id, rule, cycle_key, rule_version) WHERE (over_at IS NULL);
CREATE INDEX guard_permits_pool ON public.guard_permits USING btree (tenant_id, pool_id, rule) WHERE ((over_at IS NULL) AND (pool_id IS NOT NULL));
CREATE INDEX guard_permits_rule ON public.guard_permits USING btree (tenant_id, rule, sim_id) WHERE (over_at IS NULL);
alter table guard_permits enable row level security;
alter table guard_permits force row level security;
create policy own on guard_permits for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant insert, select, update on guard_permits to simherd_tenant;

create table idempotency_keys (
  tenant_id text default app_tenant() not null,
  key text not null,
  fingerprint text not null,
  status smallint not null,
  body jsonb,
  created_at timestamp with time zone not null,
  constraint idempotency_keys_pkey PRIMARY KEY (tenant_id, key)
);
CREATE INDEX idempotency_keys_age ON public.idempotency_keys USING btree (created_at);
alter table idempotency_keys enable row level security;
alter table idempotency_keys force row level security;
create policy all_tenants on idempotency_keys for all to simherd_platform using (true) with check (true);
create policy own on idempotency_keys for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select on idempotency_keys to simherd_platform;
grant delete, insert, select on idempotency_keys to simherd_tenant;

create table kept_answers (
  tenant_id text default app_tenant() not null,
  kind text not null,
  key text not null,
  answer jsonb not null,
  as_of timestamp with time zone not null,
  constraint kept_answers_pkey PRIMARY KEY (tenant_id, kind, key),
  constraint kept_answers_kind_check CHECK ((kind = ANY (ARRAY['cost'::text, 'plan'::text, 'coverage'::text])))
);
alter table kept_answers enable row level security;
alter table kept_answers force row level security;
create policy own on kept_answers for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant insert, select, update on kept_answers to simherd_tenant;

create table mail_attempts (
  id bigint generated always as identity not null,
  tenant_id text default app_tenant() not null,
  mail_id text not null,
  at timestamp with time zone not null,
  outcome text not null,
  response text not null,
  next_attempt_at timestamp with time zone,
  constraint mail_attempts_pkey PRIMARY KEY (id),
  constraint mail_attempts_outcome_check CHECK ((outcome = ANY (ARRAY['delivered'::text, 'later'::text, 'refused'::text, 'gone'::text, 'ours'::text])))
);
CREATE INDEX mail_attempts_mail ON public.mail_attempts USING btree (mail_id, id);
alter table mail_attempts enable row level security;
alter table mail_attempts force row level security;
create policy own on mail_attempts for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select on mail_attempts to simherd_tenant;

create table mail_bodies (
  mail_id text not null,
  tenant_id text default app_tenant() not null,
  subject text not null,
  text text not null,
  html text not null,
  headers jsonb not null,
  attachments jsonb not null,
  created_at timestamp with time zone not null,
  constraint mail_bodies_pkey PRIMARY KEY (mail_id),
  constraint mail_bodies_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX mail_bodies_age ON public.mail_bodies USING btree (tenant_id, created_at);
alter table mail_bodies enable row level security;
alter table mail_bodies force row level security;
create policy own on mail_bodies for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select on mail_bodies to simherd_tenant;

create table mail_link_key (
  id boolean default true not null,
  key bytea not null,
  created_at timestamp with time zone not null,
  constraint mail_link_key_pkey PRIMARY KEY (id),
  constraint mail_link_key_id_check CHECK (id)
);
grant insert, select on mail_link_key to simherd_platform;

create table mail_work (
  tenant_id text default app_tenant() not null,
  due_at timestamp with time zone not null,
  constraint mail_work_pkey PRIMARY KEY (tenant_id)
);
CREATE INDEX mail_work_due ON public.mail_work USING btree (due_at);
alter table mail_work enable row level security;
alter table mail_work force row level security;
create policy all_tenants on mail_work for all to simherd_platform using (true);
create policy own on mail_work for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select, update on mail_work to simherd_tenant;
grant select on mail_work to simherd_platform;

create table memberships (
  id bigint generated always as identity not null,
  tenant_id text default app_tenant() not null,
  sim_id bigint not null,
  pool_id integer not null,
  tariff_id integer,
  from_at timestamp with time zone not null,
  to_at timestamp with time zone,
  constraint memberships_pkey PRIMARY KEY (id),
  constraint memberships_sim_id_tenant FOREIGN KEY (tenant_id, sim_id) REFERENCES sims(tenant_id, id)
) with (autovacuum_analyze_scale_factor=0.02, autovacuum_analyze_threshold=1000);
CREATE UNIQUE INDEX memberships_open ON public.memberships USING btree (sim_id) WHERE (to_at IS NULL);
CREATE INDEX memberships_sim ON public.memberships USING btree (sim_id, from_at);
alter table memberships enable row level security;
alter table memberships force row level security;
create policy own on memberships for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select, update on memberships to simherd_tenant;

create table month_end_changes (
  tenant_id text default app_tenant() not null,
  cycle_key text not null,
  kind text not null,
  sim_id bigint not null,
  ticket_id uuid,
  outcome text not null,
  code text,
  detail text,
  attempts integer default 1 not null,
  constraint month_end_changes_pkey PRIMARY KEY (tenant_id, cycle_key, kind, sim_id),
  constraint month_end_changes_sim_id_tenant FOREIGN KEY (tenant_id, sim_id) REFERENCES sims(tenant_id, id),
  constraint month_end_changes_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint month_end_changes_kind_check CHECK ((kind = ANY (ARRAY['unassign'::text, 'move'::text, 'return'::text]))),
  constraint month_end_changes_outcome_check CHECK ((outcome = ANY (ARRAY['open'::text, 'complete'::text, 'failed'::text])))
);
CREATE INDEX month_end_changes_open ON public.month_end_changes USING btree (sim_id) WHERE (outcome = 'open'::text);
CREATE INDEX month_end_changes_outcome ON public.month_end_changes USING btree (tenant_id, cycle_key, kind, outcome, sim_id);
CREATE UNIQUE INDEX month_end_changes_ticket ON public.month_end_changes USING btree (ticket_id) WHERE (ticket_id IS NOT NULL);
alter table month_end_changes enable row level security;
alter table month_end_changes force row level security;
create policy own on month_end_changes for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant insert, select, update on month_end_changes to simherd_tenant;

create table notifications (
  id bigint generated always as identity not null,
  tenant_id text default app_tenant() not null,
  dedupe_key text not null,
  level smallint not null,
  body jsonb not null,
  due_at timestamp with time zone not null,
  mail_id text,
  created_at timestamp with time zone not null,
  subject text generated always as ((((body #>> '{subject,kind}'::text[]) || '/'::text) || (body #>> '{subject,id}'::text[]))) stored,
  constraint notifications_pkey PRIMARY KEY (id),
  constraint notifications_tenant_id_dedupe_key_key UNIQUE (tenant_id, dedupe_key),
  constraint notifications_level_check CHECK ((level = ANY (ARRAY[0, 1, 2])))
);
CREATE INDEX notifications_mail ON public.notifications USING btree (mail_id);
CREATE INDEX notifications_subject ON public.notifications USING btree (tenant_id, subject) WHERE (mail_id IS NOT NULL);
CREATE INDEX notifications_waiting ON public.notifications USING btree (tenant_id, due_at) WHERE (mail_id IS NULL);
alter table notifications enable row level security;
alter table notifications force row level security;
create policy figures on notifications for select to simherd_platform using (true);
create policy own on notifications for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select, update on notifications to simherd_tenant;
grant select (due_at, mail_id, tenant_id) on notifications to simherd_platform;

create table operator_mails (
  id text not null,
  subject text not null,
  text text not null,
  html text not null,
  status text default 'pending'::text not null,
  attempts integer default 0 not null,
  next_attempt_at timestamp with time zone not null,
  tried_since timestamp with time zone,
  refused_at timestamp with time zone,
  response text,
  created_at timestamp with time zone not null,
  sent_at timestamp with time zone,
  constraint operator_mails_pkey PRIMARY KEY (id),
  constraint operator_mails_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'sent'::text, 'failed'::text])))
);
CREATE INDEX operator_mails_created ON public.operator_mails USING btree (created_at);
CREATE INDEX operator_mails_pending ON public.operator_mails USING btree (created_at) WHERE (status = 'pending'::text);
grant delete, insert, select, update on operator_mails to simherd_platform;

create table operator_notices (
  id bigint generated always as identity not null,
  tenant_id text default app_tenant(),
  key text not null,
  body jsonb not null,
  count integer default 1 not null,
  due_at timestamp with time zone not null,
  mail_id text,
  created_at timestamp with time zone not null,
  last_at timestamp with time zone not null,
  constraint operator_notices_pkey PRIMARY KEY (id),
  constraint operator_notices_key UNIQUE NULLS NOT DISTINCT (tenant_id, key),
  constraint operator_notices_mail_id_fkey FOREIGN KEY (mail_id) REFERENCES operator_mails(id),
  constraint operator_notices_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX operator_notices_created ON public.operator_notices USING btree (created_at);
CREATE INDEX operator_notices_mail ON public.operator_notices USING btree (mail_id);
CREATE INDEX operator_notices_refused ON public.operator_notices USING btree (last_at) WHERE ((body ->> 'kind'::text) = 'addressRefused'::text);
CREATE INDEX operator_notices_waiting ON public.operator_notices USING btree (due_at) WHERE (mail_id IS NULL);
alter table operator_notices enable row level security;
alter table operator_notices force row level security;
create policy all_tenants on operator_notices for all to simherd_platform using (true) with check (true);
create policy own on operator_notices for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select, update on operator_notices to simherd_platform;
grant insert, select, update on operator_notices to simherd_tenant;

create table order_prices (
  tenant_id text,
  type smallint not null,
  price bigint not null,
  updated_at timestamp with time zone not null,
  constraint order_prices_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint order_prices_price_check CHECK ((price >= 0)),
  constraint order_prices_type_check CHECK ((type = ANY (ARRAY[1, 2])))
);
CREATE UNIQUE INDEX order_prices_owner ON public.order_prices USING btree (COALESCE(tenant_id, ''::text), type);
alter table order_prices enable row level security;
alter table order_prices force row level security;
create policy own_delete on order_prices for delete to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END);
create policy own_insert on order_prices for insert to simherd_tenant with check ((tenant_id = app_tenant()));
create policy own_update on order_prices for update to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
create policy platform on order_prices for all to simherd_platform using ((tenant_id IS NULL)) with check ((tenant_id IS NULL));
create policy readable on order_prices for select to simherd_tenant using ( CASE WHEN ((tenant_id = ( SELECT app_tenant() AS app_tenant)) OR (tenant_id IS NULL)) THEN true ELSE NULL::boolean END);
grant delete, insert, select, update on order_prices to simherd_platform;
grant delete, insert, select, update on order_prices to simherd_tenant;

create table orders (
  id integer generated always as identity not null,
  tenant_id text default app_tenant() not null,
  type smallint not null,
  quantity integer not null,
  unit_price bigint not null,
  total bigint not null,
  status text default 'Pending'::text not null,
  payment_invoice_id text,
  payment_receipt_url text,
  shipping_company text,
  shipping_line1 text,
  shipping_line2 text,
  shipping_city text,
  shipping_country text,
  shipping_postcode text,
  shipping_extra_info text,
  tracking_number text,
  shipping_carrier text,
  failure_reason text,
  version integer default 1 not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint orders_pkey PRIMARY KEY (id),
  constraint orders_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint orders_check CHECK ((total = (quantity * unit_price))),
  constraint orders_quantity_check CHECK (((quantity >= 1) AND (quantity <= 10000))),
  constraint orders_status_check CHECK ((status = ANY (ARRAY['Pending'::text, 'Processing'::text, 'Shipped'::text, 'Delivered'::text, 'Completed'::text, 'Cancelled'::text, 'Failed'::text]))),
  constraint orders_type_check CHECK ((type = ANY (ARRAY[1, 2]))),
  constraint orders_unit_price_check CHECK ((unit_price >= 0))
);
CREATE INDEX orders_tenant ON public.orders USING btree (tenant_id, created_at DESC, id DESC);
CREATE UNIQUE INDEX orders_tenant_id ON public.orders USING btree (tenant_id, id);
alter table orders enable row level security;
alter table orders force row level security;
create policy own on orders for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant insert, select, update on orders to simherd_tenant;

create table pool_arms (
  tenant_id text default app_tenant() not null,
  cycle_key text not null,
  pool_id integer not null,
  sim_id bigint not null,
  armed_at timestamp with time zone not null,
  constraint pool_arms_pkey PRIMARY KEY (tenant_id, cycle_key, pool_id, sim_id),
  constraint pool_arms_pool_id_tenant FOREIGN KEY (tenant_id, pool_id) REFERENCES pools(tenant_id, id),
  constraint pool_arms_sim_id_tenant FOREIGN KEY (tenant_id, sim_id) REFERENCES sims(tenant_id, id),
  constraint pool_arms_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
alter table pool_arms enable row level security;
alter table pool_arms force row level security;
create policy own on pool_arms for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select on pool_arms to simherd_tenant;

create table pool_cycles (
  tenant_id text default app_tenant() not null,
  cycle_key text not null,
  pool_id integer not null,
  bytes bigint default 0 not null,
  voice_seconds bigint default 0 not null,
  sms_count bigint default 0 not null,
  contributing integer default 0 not null,
  usage_version bigint default 1 not null,
  limit_bytes bigint default 0 not null,
  remaining_bytes bigint default 0 not null,
  excess_bytes bigint default 0 not null,
  summed_version bigint default 0 not null,
  constraint pool_cycles_pkey PRIMARY KEY (tenant_id, cycle_key, pool_id),
  constraint pool_cycles_total CHECK ((GREATEST(abs(bytes), abs(voice_seconds), abs(sms_count)) <= '9000000000000000'::bigint))
) with (fillfactor=50, autovacuum_analyze_scale_factor=0.02, autovacuum_analyze_threshold=1000);
alter table pool_cycles enable row level security;
alter table pool_cycles force row level security;
create policy own on pool_cycles for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select, update on pool_cycles to simherd_tenant;

create table pools (
  id integer generated always as identity not null,
  tenant_id text default app_tenant() not null,
  name text not null,
  type smallint not null,
  tariff_id integer not null,
  watchdog_mode smallint not null,
  warning_threshold_pct smallint,
  enable_burn_rate_alerts boolean,
  status smallint default 1 not null,
  active_sim_count integer default 0 not null,
  total_sim_count integer default 0 not null,
  version integer default 1 not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  activated_at timestamp with time zone not null,
  deleted_at timestamp with time zone,
  constraint pools_pkey PRIMARY KEY (id),
  constraint pools_tariff_id_fkey FOREIGN KEY (tariff_id) REFERENCES tariffs(id),
  constraint pools_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint pools_status_check CHECK ((status = ANY (ARRAY[0, 1]))),
  constraint pools_type_check CHECK ((type = ANY (ARRAY[0, 1]))),
  constraint pools_warning_threshold_pct_check CHECK (((warning_threshold_pct >= 1) AND (warning_threshold_pct <= 100))),
  constraint pools_watchdog_mode_check CHECK ((watchdog_mode = ANY (ARRAY[0, 1, 2])))
);
CREATE INDEX pools_name ON public.pools USING btree (tenant_id, lower(name) text_pattern_ops) WHERE (deleted_at IS NULL);
CREATE UNIQUE INDEX pools_tenant_id ON public.pools USING btree (tenant_id, id);
alter table pools enable row level security;
alter table pools force row level security;
create policy own on pools for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
create policy search on pools for select to simherd_search using (true);
grant delete, insert, select, update on pools to simherd_tenant;
grant select (deleted_at, id, name, tenant_id) on pools to simherd_search;

create table processes (
  id text not null,
  kind text not null,
  host text not null,
  pid integer not null,
  newest_migration text not null,
  started_at timestamp with time zone not null,
  seen_at timestamp with time zone not null,
  constraint processes_pkey PRIMARY KEY (id),
  constraint processes_kind_check CHECK ((kind = ANY (ARRAY['api'::text, 'worker'::text])))
);
grant delete, insert, select, update on processes to simherd_platform;

create table restatements (
  tenant_id text default app_tenant() not null,
  cycle_key text not null,
  pool_id integer not null,
  constraint restatements_pkey PRIMARY KEY (tenant_id, cycle_key, pool_id)
);
alter table restatements enable row level security;
alter table restatements force row level security;
create policy own on restatements for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select on restatements to simherd_tenant;

create table rule_activations (
  id bigint generated always as identity not null,
  version integer not null,
  at timestamp with time zone not null,
  author text not null,
  actor text,
  reason text,
  request_id text,
  constraint rule_activations_pkey PRIMARY KEY (id),
  constraint rule_activations_version_fkey FOREIGN KEY (version) REFERENCES rule_sets(version)
);
CREATE INDEX rule_activations_version ON public.rule_activations USING btree (version, id DESC);
alter table rule_activations enable row level security;
alter table rule_activations force row level security;
create policy all_activations on rule_activations for all to simherd_platform using (true) with check (true);
create policy readable on rule_activations for select to simherd_tenant using (true);
grant insert, select on rule_activations to simherd_platform;
grant select on rule_activations to simherd_tenant;

create table rule_sets (
  version integer generated always as identity not null,
  hash text not null,
  rules jsonb not null,
  author text not null,
  created_at timestamp with time zone not null,
  actor text,
  reason text,
  request_id text,
  constraint rule_sets_pkey PRIMARY KEY (version),
  constraint rule_sets_hash_key UNIQUE (hash)
);
alter table rule_sets enable row level security;
alter table rule_sets force row level security;
create policy all_sets on rule_sets for all to simherd_platform using (true) with check (true);
create policy readable on rule_sets for select to simherd_tenant using (true);
grant insert, select on rule_sets to simherd_platform;
grant select on rule_sets to simherd_tenant;

create table rule_spreads (
  id bigint generated always as identity not null,
  version integer not null,
  shifts jsonb not null,
  constraint rule_spreads_pkey PRIMARY KEY (id),
  constraint rule_spreads_version_fkey FOREIGN KEY (version) REFERENCES rule_sets(version)
);
alter table rule_spreads enable row level security;
alter table rule_spreads force row level security;
create policy all_spreads on rule_spreads for all to simherd_platform using (true) with check (true);
create policy readable on rule_spreads for select to simherd_tenant using (true);
grant insert, select on rule_spreads to simherd_platform;
grant select on rule_spreads to simherd_tenant;

create table sessions (
  token_hash bytea not null,
  key_id text not null,
  created_at timestamp with time zone not null,
  seen_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  user_agent text not null,
  is_link boolean not null,
  constraint sessions_pkey PRIMARY KEY (token_hash),
  constraint sessions_key_id_fkey FOREIGN KEY (key_id) REFERENCES api_keys(id)
);
CREATE INDEX sessions_end ON public.sessions USING btree (expires_at);
CREATE INDEX sessions_key ON public.sessions USING btree (key_id);
alter table sessions enable row level security;
alter table sessions force row level security;
create policy all_sessions on sessions for all to simherd_platform using (true) with check (true);
grant delete, insert, select, update on sessions to simherd_platform;

create table shadow_log (
  id bigint generated always as identity not null,
  tenant_id text default app_tenant() not null,
  dedupe_key text not null,
  does text not null,
  rule text not null,
  rule_version integer not null,
  sim_id bigint,
  pool_id integer,
  level smallint not null,
  message text not null,
  at timestamp with time zone not null,
  cycle_key text not null,
  constraint shadow_log_pkey PRIMARY KEY (tenant_id, id),
  constraint shadow_log_tenant_id_dedupe_key_does_key UNIQUE (tenant_id, dedupe_key, does),
  constraint shadow_log_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint shadow_log_does_check CHECK ((does = ANY (ARRAY['log'::text, 'mail'::text, 'suspend'::text]))),
  constraint shadow_log_level_check CHECK ((level = ANY (ARRAY[0, 1, 2])))
);
CREATE INDEX shadow_log_at ON public.shadow_log USING btree (at);
CREATE INDEX shadow_log_rule ON public.shadow_log USING btree (tenant_id, rule, at DESC, id DESC);
CREATE INDEX shadow_log_tenant ON public.shadow_log USING btree (tenant_id, at DESC, id DESC);
alter table shadow_log enable row level security;
alter table shadow_log force row level security;
create policy all_tenants on shadow_log for all to simherd_platform using (true);
create policy own on shadow_log for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete on shadow_log to simherd_platform;
grant insert, select on shadow_log to simherd_tenant;
grant select (at, id, tenant_id) on shadow_log to simherd_platform;

create table sign_in_mails (
  id bigint generated always as identity not null,
  key_id text not null,
  browser_hash bytea not null,
  console_url text not null,
  next text not null,
  created_at timestamp with time zone not null,
  used_at timestamp with time zone,
  wrong_codes integer default 0 not null,
  status text default 'pending'::text not null,
  attempts integer default 0 not null,
  next_attempt_at timestamp with time zone not null,
  tried_since timestamp with time zone,
  refused_at timestamp with time zone,
  response text,
  constraint sign_in_mails_pkey PRIMARY KEY (id),
  constraint sign_in_mails_key_id_fkey FOREIGN KEY (key_id) REFERENCES api_keys(id),
  constraint sign_in_mails_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'sent'::text, 'failed'::text])))
);
CREATE INDEX sign_in_mails_age ON public.sign_in_mails USING btree (created_at);
CREATE INDEX sign_in_mails_key ON public.sign_in_mails USING btree (key_id, created_at);
CREATE INDEX sign_in_mails_pending ON public.sign_in_mails USING btree (next_attempt_at) WHERE (status = 'pending'::text);
alter table sign_in_mails enable row level security;
alter table sign_in_mails force row level security;
create policy all_mails on sign_in_mails for all to simherd_platform using (true) with check (true);
grant delete, insert, select, update on sign_in_mails to simherd_platform;

create table silences (
  id integer generated always as identity not null,
  tenant_id text default app_tenant() not null,
  rule text,
  sim_id bigint,
  pool_id integer,
  tag text,
  level smallint,
  times jsonb,
  time_zone text,
  reason text not null,
  created_at timestamp with time zone not null,
  created_by text,
  ends_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  ended_by text,
  constraint silences_pkey PRIMARY KEY (id),
  constraint silences_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint silences_level_check CHECK ((level = ANY (ARRAY[0, 1, 2])))
);
CREATE INDEX silences_open ON public.silences USING btree (tenant_id, ends_at) WHERE (ended_at IS NULL);
CREATE INDEX silences_tenant ON public.silences USING btree (tenant_id, id DESC);
alter table silences enable row level security;
alter table silences force row level security;
create policy own on silences for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant insert, select, update on silences to simherd_tenant;

create table sim_blocks (
  tenant_id text default app_tenant() not null,
  block bigint not null,
  status smallint not null,
  sims integer not null,
  constraint sim_blocks_pkey PRIMARY KEY (tenant_id, block, status),
  constraint sim_blocks_status_check CHECK ((status = ANY (ARRAY[0, 1, 2])))
) with (fillfactor=50);
alter table sim_blocks enable row level security;
alter table sim_blocks force row level security;
create policy figures on sim_blocks for select to simherd_platform using (true);
create policy own on sim_blocks for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant insert, select, update on sim_blocks to simherd_tenant;
grant select (sims, status, tenant_id) on sim_blocks to simherd_platform;

create table sim_sightings (
  tenant_id text default app_tenant() not null,
  sim_id bigint not null,
  last_seen_at timestamp with time zone not null,
  imei text not null,
  imei_seen_at timestamp with time zone,
  previous_imei text not null,
  device_changes integer default 0 not null,
  device_changed_at timestamp with time zone,
  country text,
  mcc_mnc text,
  rat text,
  place_seen_at timestamp with time zone,
  country_changed_at timestamp with time zone,
  constraint sim_sightings_pkey PRIMARY KEY (tenant_id, sim_id)
) with (fillfactor=70, autovacuum_analyze_scale_factor=0.02, autovacuum_analyze_threshold=1000);
alter table sim_sightings enable row level security;
alter table sim_sightings force row level security;
create policy own on sim_sightings for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant insert, select, update on sim_sightings to simherd_tenant;

create table sims (
  id bigint generated always as identity not null,
  tenant_id text default app_tenant() not null,
  iccid text not null,
  imsi text default ''::text not null,
  msisdn text default ''::text not null,
  imei text default ''::text not null,
  tag text default ''::text not null,
  type smallint not null,
  status smallint default 0 not null,
  status_since timestamp with time zone not null,
  pool_id integer,
  tariff_id integer,
  provisioned_at timestamp with time zone,
  esim_qr_payload text,
  pending_pool_id integer,
  pending_tariff_id integer,
  pending_unassign boolean default false not null,
  pending_since timestamp with time zone,
  watchdog_mode smallint,
  warning_threshold_pct smallint,
  enable_burn_rate_alerts boolean,
  is_watchdog_exempt boolean default false not null,
  version integer default 1 not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  order_id integer,
  constraint sims_pkey PRIMARY KEY (id),
  constraint sims_iccid_key UNIQUE (iccid),
  constraint sims_order_id_tenant FOREIGN KEY (tenant_id, order_id) REFERENCES orders(tenant_id, id),
  constraint sims_pending_pool_id_tenant FOREIGN KEY (tenant_id, pending_pool_id) REFERENCES pools(tenant_id, id),
  constraint sims_pending_tariff_id_fkey FOREIGN KEY (pending_tariff_id) REFERENCES tariffs(id),
  constraint sims_pool_id_tenant FOREIGN KEY (tenant_id, pool_id) REFERENCES pools(tenant_id, id),
  constraint sims_tariff_id_fkey FOREIGN KEY (tariff_id) REFERENCES tariffs(id),
  constraint sims_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint sims_status_check CHECK ((status = ANY (ARRAY[0, 1, 2]))),
  constraint sims_type_check CHECK ((type = ANY (ARRAY[0, 1]))),
  constraint sims_warning_threshold_pct_check CHECK (((warning_threshold_pct >= 1) AND (warning_threshold_pct <= 100))),
  constraint sims_watchdog_mode_check CHECK ((watchdog_mode = ANY (ARRAY[0, 1, 2]))),
  constraint sims_in_blocks TRIGGER DEFERRABLE INITIALLY DEFERRED
) with (autovacuum_analyze_scale_factor=0.02, autovacuum_analyze_threshold=1000, fillfactor=80);
CREATE INDEX sims_imsi ON public.sims USING btree (imsi) WHERE (imsi <> ''::text);
CREATE INDEX sims_msisdn ON public.sims USING btree (msisdn) WHERE (msisdn <> ''::text);
CREATE INDEX sims_order ON public.sims USING btree (order_id, id) WHERE (order_id IS NOT NULL);
CREATE INDEX sims_pending ON public.sims USING btree (tenant_id, id) WHERE (pending_since IS NOT NULL);
CREATE INDEX sims_pool ON public.sims USING btree (pool_id, id);
CREATE INDEX sims_search ON public.sims USING gin (lower(((((((iccid || '
'::text) || imsi) || '
'::text) || msisdn) || '
'::text) || tag)) gin_trgm_ops);
CREATE INDEX sims_tag ON public.sims USING btree (tenant_id, lower(tag) text_pattern_ops) WHERE (tag <> ''::text);
CREATE UNIQUE INDEX sims_tenant_id ON public.sims USING btree (tenant_id, id);
CREATE TRIGGER sims_counted AFTER UPDATE ON public.sims REFERENCING OLD TABLE AS was NEW TABLE AS became FOR EACH STATEMENT EXECUTE FUNCTION count_moved_sims();
CREATE CONSTRAINT TRIGGER sims_in_blocks AFTER INSERT OR DELETE OR UPDATE OF status ON public.sims DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((current_setting('app.tallies'::text, true) IS DISTINCT FROM 'on'::text)) EXECUTE FUNCTION count_sim_in_blocks();
alter table sims enable row level security;
alter table sims force row level security;
create policy own on sims for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
create policy search on sims for select to simherd_search using (true);
grant delete, insert, select, update on sims to simherd_tenant;
grant select (iccid, id, imsi, msisdn, pool_id, status, tag, tenant_id) on sims to simherd_search;

create table statement_parts (
  tenant_id text default app_tenant() not null,
  cycle_key text not null,
  adjusts text not null,
  pool_id integer not null,
  pool_name text not null,
  usage_version bigint not null,
  lines integer not null,
  bytes bigint not null,
  voice_seconds bigint not null,
  sms_count bigint not null,
  limit_bytes bigint not null,
  overage_bytes bigint not null,
  charge_micro bigint not null,
  line_id bigint,
  constraint statement_parts_pkey PRIMARY KEY (tenant_id, cycle_key, adjusts, pool_id),
  constraint statement_parts_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
alter table statement_parts enable row level security;
alter table statement_parts force row level security;
create policy own on statement_parts for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant insert, select, update on statement_parts to simherd_tenant;

create table statement_progress (
  tenant_id text default app_tenant() not null,
  cycle_key text not null,
  adjusts text not null,
  pool_id integer not null,
  sim_id bigint not null,
  constraint statement_progress_pkey PRIMARY KEY (tenant_id, cycle_key),
  constraint statement_progress_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
alter table statement_progress enable row level security;
alter table statement_progress force row level security;
create policy own on statement_progress for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select, update on statement_progress to simherd_tenant;

create table statement_totals (
  tenant_id text default app_tenant() not null,
  cycle_key text not null,
  lines integer not null,
  total_micro bigint not null,
  constraint statement_totals_pkey PRIMARY KEY (tenant_id, cycle_key)
);
alter table statement_totals enable row level security;
alter table statement_totals force row level security;
create policy own on statement_totals for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant insert, select on statement_totals to simherd_tenant;

create table statements (
  id bigint generated always as identity not null,
  tenant_id text default app_tenant() not null,
  cycle_key text not null,
  pool_id integer not null,
  pool_name text not null,
  sim_id bigint,
  iccid text,
  tag text,
  kind text not null,
  tariff_id integer,
  bytes bigint not null,
  voice_seconds bigint not null,
  sms_count bigint not null,
  limit_bytes bigint not null,
  overage_bytes bigint not null,
  fee_micro bigint not null,
  sms_micro bigint not null,
  voice_micro bigint not null,
  overage_micro bigint not null,
  adjusts text,
  constraint statements_pkey PRIMARY KEY (id),
  constraint statements_adjusts_check CHECK (((kind = 'adjustment'::text) = (adjusts IS NOT NULL))),
  constraint statements_kind_check CHECK ((kind = ANY (ARRAY['sim'::text, 'pool'::text, 'empty'::text, 'adjustment'::text])))
);
CREATE INDEX statements_adjusts ON public.statements USING btree (tenant_id, adjusts, pool_id) WHERE (adjusts IS NOT NULL);
CREATE INDEX statements_lines ON public.statements USING btree (tenant_id, cycle_key, id);
CREATE UNIQUE INDEX statements_once ON public.statements USING btree (tenant_id, cycle_key, pool_id, sim_id, adjusts) NULLS NOT DISTINCT;
CREATE INDEX statements_sim ON public.statements USING btree (tenant_id, sim_id, cycle_key) WHERE (sim_id IS NOT NULL);
alter table statements enable row level security;
alter table statements force row level security;
create policy own on statements for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant insert, select on statements to simherd_tenant;

create table suspensions (
  id bigint generated always as identity not null,
  tenant_id text default app_tenant() not null,
  sim_id bigint not null,
  cause text not null,
  rule text,
  cycle_key text,
  until text,
  workflow_id text,
  opened_at timestamp with time zone not null,
  closed_at timestamp with time zone,
  closed_because text,
  constraint suspensions_pkey PRIMARY KEY (id),
  constraint suspensions_sim_id_tenant FOREIGN KEY (tenant_id, sim_id) REFERENCES sims(tenant_id, id),
  constraint suspensions_cause_check CHECK ((cause = ANY (ARRAY['user'::text, 'watchdog'::text]))),
  constraint suspensions_until_check CHECK ((until = ANY (ARRAY['renewal'::text, 'manual'::text])))
);
CREATE UNIQUE INDEX suspensions_open ON public.suspensions USING btree (sim_id) WHERE (closed_at IS NULL);
CREATE INDEX suspensions_renewed ON public.suspensions USING btree (tenant_id, closed_at) WHERE ((cause = 'watchdog'::text) AND (until = 'renewal'::text) AND (closed_at IS NOT NULL));
CREATE INDEX suspensions_rule ON public.suspensions USING btree (tenant_id, rule, sim_id) WHERE ((closed_at IS NULL) AND (cause = 'watchdog'::text));
CREATE INDEX suspensions_sim ON public.suspensions USING btree (sim_id, opened_at);
CREATE INDEX suspensions_tenant ON public.suspensions USING btree (tenant_id, sim_id) WHERE (closed_at IS NULL);
alter table suspensions enable row level security;
alter table suspensions force row level security;
create policy own on suspensions for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select, update on suspensions to simherd_tenant;

create table tag_patterns (
  id bigint generated always as identity not null,
  tenant_id text default app_tenant() not null,
  pattern text not null,
  constraint tag_patterns_pkey PRIMARY KEY (id),
  constraint tag_patterns_tenant_id_pattern_key UNIQUE (tenant_id, pattern),
  constraint tag_patterns_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
alter table tag_patterns enable row level security;
alter table tag_patterns force row level security;
create policy own on tag_patterns for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant insert, select on tag_patterns to simherd_tenant;

create table tariffs (
  id integer generated always as identity not null,
  tenant_id text,
  display_name text not null,
  description text not null,
  is_active boolean default true not null,
  type smallint not null,
  allowance_bytes bigint not null,
  sim_monthly_fee bigint not null,
  fixed_bucket_cost bigint default 0 not null,
  sms_fee bigint not null,
  voice_fee bigint not null,
  overage_fee_per_gb bigint not null,
  created_at timestamp with time zone not null,
  version integer default 1 not null,
  constraint tariffs_pkey PRIMARY KEY (id),
  constraint tariffs_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint tariffs_allowance_bytes_check CHECK ((allowance_bytes >= 0)),
  constraint tariffs_type_check CHECK ((type = ANY (ARRAY[0, 1, 2])))
);
CREATE INDEX tariffs_tenant ON public.tariffs USING btree (tenant_id, id);
alter table tariffs enable row level security;
alter table tariffs force row level security;
create policy own on tariffs for insert to simherd_tenant with check ((tenant_id = app_tenant()));
create policy own_offer on tariffs for update to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
create policy platform on tariffs for all to simherd_platform using ((tenant_id IS NULL)) with check ((tenant_id IS NULL));
create policy readable on tariffs for select to simherd_tenant using ( CASE WHEN ((tenant_id = ( SELECT app_tenant() AS app_tenant)) OR (tenant_id IS NULL)) THEN true ELSE NULL::boolean END);
grant insert, select on tariffs to simherd_platform;
grant insert, select on tariffs to simherd_tenant;
grant update (is_active, version) on tariffs to simherd_platform;
grant update (is_active, version) on tariffs to simherd_tenant;

create table tenants (
  id text not null,
  name text not null,
  billing_email text not null,
  billing_cycle text not null,
  currency text not null,
  enforcement_enabled boolean default true not null,
  version integer default 1 not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  guard_least integer default 20 not null,
  guard_pct double precision default 5 not null,
  time_zone text default 'UTC'::text not null,
  feed_every text default 'P1D'::text not null,
  escalate_after text,
  alert_guard_least integer default 50 not null,
  alert_guard_pct double precision default 2 not null,
  mails_from smallint default 0 not null,
  rules_heard bigint default 0 not null,
  constraint tenants_pkey PRIMARY KEY (id),
  constraint tenants_alert_guard_least_check CHECK ((alert_guard_least >= 0)),
  constraint tenants_alert_guard_pct_check CHECK (((alert_guard_pct >= (0)::double precision) AND (alert_guard_pct <= (100)::double precision))),
  constraint tenants_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text)),
  constraint tenants_guard_least_check CHECK ((guard_least >= 0)),
  constraint tenants_guard_pct_check CHECK (((guard_pct >= (0)::double precision) AND (guard_pct <= (100)::double precision))),
  constraint tenants_mails_from_check CHECK ((mails_from = ANY (ARRAY[0, 1, 2])))
);
CREATE INDEX tenants_billing_email ON public.tenants USING btree (lower(billing_email));
CREATE TRIGGER tenants_told AFTER DELETE OR UPDATE OF id ON public.tenants FOR EACH ROW EXECUTE FUNCTION notify_caller_change('tenant');
alter table tenants enable row level security;
alter table tenants force row level security;
create policy all_tenants on tenants for all to simherd_platform using (true) with check (true);
create policy own on tenants for all to simherd_tenant using ((id = app_tenant())) with check ((id = app_tenant()));
grant insert, select, update on tenants to simherd_platform;
grant select, update on tenants to simherd_tenant;

create table ticket_work (
  tenant_id text default app_tenant() not null,
  sim_id bigint not null,
  due_at timestamp with time zone not null,
  constraint ticket_work_pkey PRIMARY KEY (tenant_id, sim_id)
);
CREATE INDEX ticket_work_due ON public.ticket_work USING btree (due_at);
CREATE INDEX ticket_work_of_tenant ON public.ticket_work USING btree (tenant_id, due_at, sim_id);
alter table ticket_work enable row level security;
alter table ticket_work force row level security;
create policy all_tenants on ticket_work for all to simherd_platform using (true) with check (true);
create policy own on ticket_work for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select, update on ticket_work to simherd_tenant;
grant select, update on ticket_work to simherd_platform;

create table tickets (
  id uuid not null,
  tenant_id text default app_tenant() not null,
  seq bigint generated always as identity not null,
  sim_id bigint not null,
  type smallint not null,
  status smallint default 0 not null,
  created_at timestamp with time zone not null,
  pool_id integer,
  tariff_id integer,
  unassign boolean default false not null,
  tag text,
  message text,
  cause jsonb not null,
  effective_at timestamp with time zone,
  attempts integer default 0 not null,
  next_attempt_at timestamp with time zone not null,
  lease_until timestamp with time zone,
  failure_code text,
  failure_text text,
  finished_at timestamp with time zone,
  bulk_id uuid,
  failure_detail text,
  counts boolean default false not null,
  withdrawn_by text,
  constraint tickets_pkey PRIMARY KEY (id),
  constraint tickets_bulk_id_tenant FOREIGN KEY (tenant_id, bulk_id) REFERENCES bulk_runs(tenant_id, id),
  constraint tickets_sim_id_tenant FOREIGN KEY (tenant_id, sim_id) REFERENCES sims(tenant_id, id),
  constraint tickets_status_check CHECK ((status = ANY (ARRAY[0, 1, 2, 3, 4]))),
  constraint tickets_type_check CHECK ((type = ANY (ARRAY[0, 1, 2, 3, 4])))
) with (autovacuum_analyze_scale_factor=0.02, autovacuum_analyze_threshold=1000);
CREATE UNIQUE INDEX tickets_bulk ON public.tickets USING btree (bulk_id, sim_id) WHERE (bulk_id IS NOT NULL);
CREATE INDEX tickets_bulk_status ON public.tickets USING btree (bulk_id, status) WHERE (bulk_id IS NOT NULL);
CREATE INDEX tickets_counted ON public.tickets USING btree (tenant_id) WHERE (counts AND (status = ANY (ARRAY[0, 1])));
CREATE INDEX tickets_ended ON public.tickets USING btree (tenant_id, finished_at) INCLUDE (status) WHERE (status = ANY (ARRAY[2, 3]));
CREATE INDEX tickets_listed ON public.tickets USING btree (tenant_id, status, seq) WHERE (status <> 2);
CREATE INDEX tickets_of_sim ON public.tickets USING btree (sim_id, seq);
CREATE INDEX tickets_open ON public.tickets USING btree (sim_id, seq) WHERE (status = ANY (ARRAY[0, 1]));
CREATE INDEX tickets_tenant ON public.tickets USING btree (tenant_id, seq DESC);
alter table tickets enable row level security;
alter table tickets force row level security;
create policy own on tickets for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select, update on tickets to simherd_tenant;

create table usage_buckets (
  tenant_id text default app_tenant() not null,
  subject_kind smallint not null,
  subject_id bigint not null,
  starts_at timestamp with time zone not null,
  bytes bigint default 0 not null,
  voice_seconds bigint default 0 not null,
  sms_count bigint default 0 not null,
  constraint usage_buckets_pkey PRIMARY KEY (tenant_id, subject_kind, subject_id, starts_at),
  constraint usage_buckets_subject_kind_check CHECK ((subject_kind = ANY (ARRAY[1, 2, 3, 4]))),
  constraint usage_buckets_total CHECK ((GREATEST(abs(bytes), abs(voice_seconds), abs(sms_count)) <= '9000000000000000'::bigint))
);
alter table usage_buckets enable row level security;
alter table usage_buckets force row level security;
create policy own on usage_buckets for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select, update on usage_buckets to simherd_tenant;

create table usage_deliveries (
  id bigint generated always as identity not null,
  tenant_id text default app_tenant() not null,
  began_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  actor text not null,
  key_id text,
  request_id text not null,
  outcome text,
  accepted bigint default 0 not null,
  duplicates bigint default 0 not null,
  rejected bigint default 0 not null,
  bytes bigint default 0 not null,
  sha256 text,
  constraint usage_deliveries_pkey PRIMARY KEY (id),
  constraint usage_deliveries_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint usage_deliveries_outcome_check CHECK ((outcome = ANY (ARRAY['complete'::text, 'broken'::text])))
);
CREATE INDEX usage_deliveries_tenant ON public.usage_deliveries USING btree (tenant_id, id DESC);
alter table usage_deliveries enable row level security;
alter table usage_deliveries force row level security;
create policy own on usage_deliveries for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant insert, select on usage_deliveries to simherd_tenant;
grant update (accepted, bytes, duplicates, ended_at, outcome, rejected, sha256) on usage_deliveries to simherd_tenant;

create table usage_feeds (
  tenant_id text default app_tenant() not null,
  received_at timestamp with time zone not null,
  newest_at timestamp with time zone,
  constraint usage_feeds_pkey PRIMARY KEY (tenant_id)
) with (fillfactor=50);
alter table usage_feeds enable row level security;
alter table usage_feeds force row level security;
create policy figures on usage_feeds for select to simherd_platform using (true);
create policy own on usage_feeds for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant insert, select, update on usage_feeds to simherd_tenant;
grant select (received_at, tenant_id) on usage_feeds to simherd_platform;

create table usage_ledger (
  tenant_id text default app_tenant() not null,
  cycle_key text not null,
  sim_id bigint not null,
  pool_id integer not null,
  tariff_id integer,
  contributing boolean default false not null,
  bytes bigint default 0 not null,
  voice_seconds bigint default 0 not null,
  sms_count bigint default 0 not null,
  sessions bigint default 0 not null,
  constraint usage_ledger_pkey PRIMARY KEY (tenant_id, cycle_key, sim_id, pool_id),
  constraint usage_ledger_bytes_check CHECK ((bytes >= 0)),
  constraint usage_ledger_sessions_check CHECK ((sessions >= 0)),
  constraint usage_ledger_sms_count_check CHECK ((sms_count >= 0)),
  constraint usage_ledger_total CHECK ((GREATEST(bytes, voice_seconds, sms_count, sessions) <= '9000000000000000'::bigint)),
  constraint usage_ledger_voice_seconds_check CHECK ((voice_seconds >= 0))
) with (fillfactor=50, autovacuum_analyze_scale_factor=0.02, autovacuum_analyze_threshold=1000);
CREATE INDEX usage_ledger_pool ON public.usage_ledger USING btree (tenant_id, cycle_key, pool_id, sim_id);
alter table usage_ledger enable row level security;
alter table usage_ledger force row level security;
create policy own on usage_ledger for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select, update on usage_ledger to simherd_tenant;

create table usage_records (
  tenant_id text default app_tenant() not null,
  record_id text not null,
  at timestamp with time zone not null,
  sim_id bigint not null,
  pool_id integer not null,
  cycle_key text not null,
  bytes_up bigint not null,
  bytes_down bigint not null,
  voice_seconds bigint not null,
  sms_count bigint not null,
  sessions bigint default 0 not null,
  imei text,
  country text,
  mcc_mnc text,
  rat text,
  correction boolean default false not null,
  received_at timestamp with time zone not null,
  delivery_id bigint,
  constraint usage_records_pkey PRIMARY KEY (tenant_id, record_id, at)
) partition by RANGE (at);
CREATE INDEX usage_records_sim ON ONLY public.usage_records USING btree (sim_id, at);
alter table usage_records enable row level security;
alter table usage_records force row level security;
create policy own on usage_records for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select, update on usage_records to simherd_tenant;

create table watch_shards (
  tenant_id text default app_tenant() not null,
  subject_kind smallint not null,
  from_id bigint not null,
  to_id bigint,
  next_at timestamp with time zone not null,
  asked bigint default 0 not null,
  brought_at timestamp with time zone,
  constraint watch_shards_pkey PRIMARY KEY (tenant_id, subject_kind, from_id),
  constraint watch_shards_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint watch_shards_subject_kind_check CHECK ((subject_kind = ANY (ARRAY[1, 2, 3, 4])))
);
CREATE INDEX watch_shards_next ON public.watch_shards USING btree (next_at);
alter table watch_shards enable row level security;
alter table watch_shards force row level security;
create policy all_tenants on watch_shards for all to simherd_platform using (true);
create policy own on watch_shards for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select, update on watch_shards to simherd_tenant;
grant select on watch_shards to simherd_platform;

create table watchdog_log (
  id bigint generated always as identity not null,
  tenant_id text default app_tenant() not null,
  dedupe_key text not null,
  rule text,
  rule_version integer,
  sim_id bigint,
  pool_id integer,
  level smallint not null,
  message text not null,
  at timestamp with time zone not null,
  cycle_key text,
  explanation jsonb,
  grounds jsonb,
  constraint watchdog_log_pkey PRIMARY KEY (id),
  constraint watchdog_log_tenant_id_dedupe_key_key UNIQUE (tenant_id, dedupe_key),
  constraint watchdog_log_level_check CHECK ((level = ANY (ARRAY[0, 1, 2])))
);
CREATE INDEX watchdog_log_pool ON public.watchdog_log USING btree (tenant_id, pool_id, at DESC, id DESC);
CREATE INDEX watchdog_log_sim ON public.watchdog_log USING btree (tenant_id, sim_id, at DESC, id DESC);
CREATE INDEX watchdog_log_tenant ON public.watchdog_log USING btree (tenant_id, at DESC, id DESC);
alter table watchdog_log enable row level security;
alter table watchdog_log force row level security;
create policy own on watchdog_log for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant insert, select on watchdog_log to simherd_tenant;

create table webhook_events (
  tenant_id text default app_tenant() not null,
  id text not null,
  type text not null,
  body text not null,
  at timestamp with time zone not null,
  constraint webhook_events_pkey PRIMARY KEY (tenant_id, id),
  constraint webhook_events_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
);
CREATE INDEX webhook_events_at ON public.webhook_events USING btree (at);
alter table webhook_events enable row level security;
alter table webhook_events force row level security;
create policy all_tenants on webhook_events for all to simherd_platform using (true);
create policy own on webhook_events for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete on webhook_events to simherd_platform;
grant insert, select on webhook_events to simherd_tenant;
grant select (at, id, tenant_id) on webhook_events to simherd_platform;

create table webhooks (
  id integer generated always as identity not null,
  tenant_id text default app_tenant() not null,
  channel text default 'webhook'::text not null,
  url text not null,
  description text not null,
  events text[],
  secret text not null,
  previous_secret text,
  previous_until timestamp with time zone,
  failures integer default 0 not null,
  paused_until timestamp with time zone,
  warned_at timestamp with time zone,
  disabled_at timestamp with time zone,
  disabled_why text,
  created_at timestamp with time zone not null,
  created_by text,
  constraint webhooks_pkey PRIMARY KEY (id),
  constraint webhooks_tenant_id_id_key UNIQUE (tenant_id, id),
  constraint webhooks_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint webhooks_channel_check CHECK ((channel = 'webhook'::text))
);
alter table webhooks enable row level security;
alter table webhooks force row level security;
create policy all_tenants on webhooks for all to simherd_platform using (true);
create policy own on webhooks for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select, update on webhooks to simherd_tenant;
grant select (disabled_at, id, paused_until, tenant_id) on webhooks to simherd_platform;

create table workflow_outbox (
  id bigint generated always as identity not null,
  tenant_id text default app_tenant() not null,
  workflow_id text not null,
  request jsonb not null,
  due_at timestamp with time zone not null,
  attempts integer default 0 not null,
  created_at timestamp with time zone not null,
  done_at timestamp with time zone,
  constraint workflow_outbox_pkey PRIMARY KEY (id)
);
CREATE INDEX workflow_outbox_due ON public.workflow_outbox USING btree (due_at) WHERE (done_at IS NULL);
CREATE INDEX workflow_outbox_open ON public.workflow_outbox USING btree (id) WHERE (done_at IS NULL);
CREATE INDEX workflow_outbox_order ON public.workflow_outbox USING btree (workflow_id, id) WHERE (done_at IS NULL);
alter table workflow_outbox enable row level security;
alter table workflow_outbox force row level security;
create policy all_tenants on workflow_outbox for all to simherd_platform using (true) with check (true);
create policy own on workflow_outbox for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select, update on workflow_outbox to simherd_tenant;
grant delete, select, update on workflow_outbox to simherd_platform;

create table workflow_starts (
  tenant_id text default app_tenant() not null,
  workflow_id text not null,
  started_at timestamp with time zone not null,
  held boolean default false not null,
  input jsonb,
  type text generated always as (split_part(workflow_id, ':'::text, 1)) stored,
  sim_id bigint generated always as (
CASE
    WHEN (workflow_id ~~ 'suspend-on-overage:%'::text) THEN (split_part(workflow_id, ':'::text, 3))::bigint
    ELSE NULL::bigint
END) stored,
  pool_id integer generated always as (
CASE
    WHEN (workflow_id ~~ 'enforce-pool:%'::text) THEN (split_part(workflow_id, ':'::text, 3))::integer
    ELSE NULL::integer
END) stored,
  cycle_key text generated always as (
CASE
    WHEN ((workflow_id ~~ 'suspend-on-overage:%'::text) OR (workflow_id ~~ 'enforce-pool:%'::text)) THEN split_part(workflow_id, ':'::text, 4)
    ELSE NULL::text
END) stored,
  refused_at timestamp with time zone,
  constraint workflow_starts_pkey PRIMARY KEY (tenant_id, workflow_id)
);
comment on column workflow_starts.refused_at is 'when the carrier refused for good to suspend its SIM; null if it did not, or a person has asked again since';
CREATE UNIQUE INDEX workflow_starts_pool ON public.workflow_starts USING btree (tenant_id, cycle_key, pool_id) WHERE (pool_id IS NOT NULL);
CREATE UNIQUE INDEX workflow_starts_sim ON public.workflow_starts USING btree (tenant_id, cycle_key, sim_id) WHERE (sim_id IS NOT NULL);
alter table workflow_starts enable row level security;
alter table workflow_starts force row level security;
create policy own on workflow_starts for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select, update on workflow_starts to simherd_tenant;

create table workflow_troubles (
  tenant_id text default app_tenant() not null,
  workflow_id text not null,
  activity_id text not null,
  activity text not null,
  attempt integer not null,
  code text not null,
  detail text not null,
  since timestamp with time zone not null,
  failed_at timestamp with time zone not null,
  next_attempt_at timestamp with time zone not null,
  constraint workflow_troubles_pkey PRIMARY KEY (tenant_id, workflow_id, activity_id)
);
CREATE INDEX workflow_troubles_next ON public.workflow_troubles USING btree (next_attempt_at);
CREATE INDEX workflow_troubles_since ON public.workflow_troubles USING btree (tenant_id, since, workflow_id, activity_id);
alter table workflow_troubles enable row level security;
alter table workflow_troubles force row level security;
create policy all_tenants on workflow_troubles for all to simherd_platform using (true);
create policy own on workflow_troubles for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete on workflow_troubles to simherd_platform;
grant delete, insert, select, update on workflow_troubles to simherd_tenant;
grant select (activity_id, next_attempt_at, tenant_id, workflow_id) on workflow_troubles to simherd_platform;

create table would_suspend (
  tenant_id text default app_tenant() not null,
  rule text not null,
  subject_kind smallint not null,
  subject_id bigint not null,
  cycle_key text not null,
  rule_version integer not null,
  target text not null,
  reason text not null,
  due_at timestamp with time zone not null,
  constraint would_suspend_pkey PRIMARY KEY (tenant_id, rule, subject_kind, subject_id),
  constraint would_suspend_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id),
  constraint would_suspend_subject_kind_check CHECK ((subject_kind = ANY (ARRAY[1, 2, 3, 4])))
);
alter table would_suspend enable row level security;
alter table would_suspend force row level security;
create policy all_tenants on would_suspend for all to simherd_platform using (true);
create policy own on would_suspend for all to simherd_tenant using ( CASE WHEN (tenant_id = ( SELECT app_tenant() AS app_tenant)) THEN true ELSE NULL::boolean END) with check ((tenant_id = app_tenant()));
grant delete, insert, select, update on would_suspend to simherd_tenant;
grant select on would_suspend to simherd_platform;

-- Views

create view ledger_figures with (security_invoker=true) as
SELECT l.tenant_id,
    l.cycle_key,
    l.sim_id,
    l.pool_id,
    l.tariff_id,
    l.contributing,
    l.bytes,
    l.voice_seconds,
    l.sms_count,
    l.sessions,
    g.id AS governing_tariff_id,
    g.type AS governing_type,
    r.limit_bytes,
        CASE
            WHEN (g.id IS NULL) THEN (0)::bigint
            ELSE GREATEST((0)::bigint, (l.bytes - r.limit_bytes))
        END AS excess_bytes,
    GREATEST((0)::bigint, (r.limit_bytes - l.bytes)) AS remaining_bytes,
    (COALESCE((pt.type)::integer, 0) <> 0) AS is_shared
   FROM ((((((usage_ledger l
     LEFT JOIN pools p ON ((p.id = l.pool_id)))
     LEFT JOIN tariffs pt ON ((pt.id = p.tariff_id)))
     LEFT JOIN tariffs own ON ((own.id = l.tariff_id)))
     LEFT JOIN tariffs g ON ((g.id =
        CASE
            WHEN (l.pool_id = 0) THEN own.id
            WHEN (pt.type <> 0) THEN pt.id
            WHEN (own.type = 0) THEN own.id
            ELSE pt.id
        END)))
     LEFT JOIN pool_cycles pc ON (((pc.tenant_id = l.tenant_id) AND (pc.cycle_key = l.cycle_key) AND (pc.pool_id = l.pool_id))))
     CROSS JOIN LATERAL ( SELECT
                CASE
                    WHEN ((NOT l.contributing) OR (g.id IS NULL)) THEN (0)::bigint
                    WHEN (g.type = 2) THEN
                    CASE
                        WHEN (pc.contributing > 0) THEN (g.allowance_bytes / pc.contributing)
                        ELSE (0)::bigint
                    END
                    ELSE g.allowance_bytes
                END AS limit_bytes) r);
grant select on ledger_figures to simherd_tenant;

create view pool_figures with (security_invoker=true) as
SELECT pc.tenant_id,
    pc.cycle_key,
    pc.pool_id,
    pc.usage_version,
    pc.bytes,
    pc.voice_seconds,
    pc.sms_count,
    pc.contributing,
    c.is_shared,
        CASE
            WHEN c.is_shared THEN c.capacity
            ELSE s.limit_bytes
        END AS limit_bytes,
        CASE
            WHEN c.is_shared THEN GREATEST((0)::bigint, (pc.bytes - c.capacity))
            ELSE s.excess_bytes
        END AS overage_bytes,
        CASE
            WHEN c.is_shared THEN GREATEST((0)::bigint, (c.capacity - pc.bytes))
            ELSE s.remaining_bytes
        END AS remaining_bytes,
    s.excess_bytes
   FROM ((((pool_cycles pc
     LEFT JOIN pools p ON ((p.id = pc.pool_id)))
     LEFT JOIN tariffs t ON ((t.id = p.tariff_id)))
     CROSS JOIN LATERAL ( SELECT (COALESCE((t.type)::integer, 0) <> 0) AS is_shared,
                CASE t.type
                    WHEN 2 THEN t.allowance_bytes
                    WHEN 1 THEN (t.allowance_bytes * pc.contributing)
                    ELSE NULL::bigint
                END AS capacity) c)
     CROSS JOIN LATERAL ( SELECT pc.limit_bytes,
            pc.excess_bytes,
            pc.remaining_bytes
          WHERE (pc.summed_version = pc.usage_version)
        UNION ALL
         SELECT sum_rows.limit_bytes,
            sum_rows.excess_bytes,
            sum_rows.remaining_bytes
           FROM ( SELECT (COALESCE(sum(f.limit_bytes) FILTER (WHERE (NOT c.is_shared)), (0)::numeric))::bigint AS limit_bytes,
                    (COALESCE(sum(f.excess_bytes), (0)::numeric))::bigint AS excess_bytes,
                    (COALESCE(sum(f.remaining_bytes) FILTER (WHERE (NOT c.is_shared)), (0)::numeric))::bigint AS remaining_bytes
                   FROM ledger_figures f
                  WHERE ((f.tenant_id = pc.tenant_id) AND (f.cycle_key = pc.cycle_key) AND (f.pool_id = pc.pool_id))) sum_rows
          WHERE (pc.summed_version <> pc.usage_version)) s);
grant select on pool_figures to simherd_tenant;

-- Functions

CREATE OR REPLACE FUNCTION public.app_tenant()
 RETURNS text
 LANGUAGE sql
 STABLE
RETURN NULLIF(current_setting('app.tenant'::text, true), ''::text);

CREATE OR REPLACE FUNCTION public.count_moved_sims()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare d record;
begin
  for d in
    select pool_id, sum(active)::integer as active, sum(total)::integer as total
      from (select pool_id, case when status = 1 then -1 else 0 end, -1 from was
             union all
            select pool_id, case when status = 1 then 1 else 0 end, 1 from became) v(pool_id, active, total)
     where pool_id is not null
     group by pool_id
    having sum(active) <> 0 or sum(total) <> 0
     order by pool_id
  loop
    update pools
       set active_sim_count = active_sim_count + d.active, total_sim_count = total_sim_count + d.total
     where id = d.pool_id;
  end loop;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.count_sim_in_blocks()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into sim_blocks as b (tenant_id, block, status, sims)
  select v.tenant_id, v.id >> 12, v.status, sum(v.sims)
    from (values (old.tenant_id, old.id, old.status, -1), (new.tenant_id, new.id, new.status, 1)) v(tenant_id, id, status, sims)
   where v.id is not null
   group by 1, 2, 3
  having sum(v.sims) <> 0
   order by 1, 2, 3
  on conflict (tenant_id, block, status) do update set sims = b.sims + excluded.sims;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.make_usage_partition(first_day date)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET lock_timeout TO '3s'
 SET "TimeZone" TO 'UTC'
AS $function$
declare
  name constant text := usage_partition(first_day);
  until constant date := first_day + interval '1 month';
begin
  if extract(day from first_day) <> 1 then
    raise exception 'make_usage_partition: got %, expected the first day of a month', first_day;
  end if;
  perform pg_advisory_xact_lock(hashtext('simherd.partitions'));
  -- Of the table of tables itself: a session's cache of names does not know yet what another made while this one waited.
  if exists (select from pg_class where relname = name and relnamespace = 'public'::regnamespace) then return null; end if;
  execute format('create table %I (like usage_records including all)', name);
  execute format('alter table usage_records attach partition %I for values from (%L) to (%L)',
                 name, first_day::timestamptz, until::timestamptz);
  return name;
end $function$;
grant execute on function make_usage_partition(date) to simherd_platform;

CREATE OR REPLACE FUNCTION public.named_from(beginning text, most integer)
 RETURNS TABLE(kind text, id bigint)
 LANGUAGE sql
 STABLE SECURITY DEFINER ROWS 20
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  (select 'sim', s.id from public.sims s
    where s.tenant_id = (select public.app_tenant()) and s.tag <> ''
      and lower(s.tag) ~>=~ lower(beginning) and lower(s.tag) ~<~ (lower(beginning) || U&'\+10FFFF')
    order by lower(s.tag) using ~<~ limit most)
  union all
  (select 'pool', p.id from public.pools p
    where p.tenant_id = (select public.app_tenant()) and p.deleted_at is null
      and lower(p.name) ~>=~ lower(beginning) and lower(p.name) ~<~ (lower(beginning) || U&'\+10FFFF')
    order by lower(p.name) using ~<~ limit most)
$function$;
alter function named_from(text,integer) owner to simherd_search;
grant execute on function named_from(text,integer) to simherd_tenant;

CREATE OR REPLACE FUNCTION public.notify_caller_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_notify('simherd_callers', tg_argv[0] || ' ' || old.id);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.overage_places(cycle text, pool_ids integer[], most integer)
 RETURNS TABLE(pool_id integer, overage numeric, excess numeric, remainder numeric, sim_id bigint)
 LANGUAGE plpgsql
 STABLE
AS $function$
#variable_conflict use_column
begin
  if pool_ids is null then return; end if;
  return query
  -- Pool by pool (`limit`, `offset`): PostgreSQL takes the rows of a cycle that it has no statistics of for one, and
  -- would join all of them with all pools.
  select p.pool_id, p.overage, p.excess, l.remainder, l.sim_id
    from unnest(pool_ids) as ids(id)
   cross join lateral (
     select f.pool_id, f.overage_bytes::numeric as overage, greatest(1, f.excess_bytes)::numeric as excess, f.is_shared
       from pool_figures f
      where f.tenant_id = app_tenant() and f.cycle_key = cycle and f.pool_id = ids.id
      limit 1
   ) p
    left join lateral (
      select r.remainder, r.sim_id
        from (select f.sim_id, mod(p.overage * f.excess_bytes, p.excess) as remainder,
                     row_number() over (order by mod(p.overage * f.excess_bytes, p.excess) desc, f.sim_id) as place,
                     p.overage - sum(div(p.overage * f.excess_bytes, p.excess)) over () as left_over
                from ledger_figures f
               where f.tenant_id = app_tenant() and f.cycle_key = cycle and f.pool_id = p.pool_id
                 and (most is null
                      or (select count(*) from (select from usage_ledger l
                                                 where l.tenant_id = app_tenant() and l.cycle_key = cycle
                                                   and l.pool_id = p.pool_id
                                                 limit most + 1) counted) <= most)) r
       where r.place = r.left_over
    ) l on true
   where p.is_shared and p.overage > 0;
end $function$;

CREATE OR REPLACE FUNCTION public.search_sims(pattern text, of_status smallint, of_pool bigint, after_id bigint, most bigint, in_order boolean)
 RETURNS SETOF bigint
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER ROWS 100
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return query execute format(
    'select id from public.sims
      where tenant_id = (select public.app_tenant())
        and lower(iccid || e''\n'' || imsi || e''\n'' || msisdn || e''\n'' || tag) like lower($1) %s %s %s %s %s',
    case when of_status is not null then 'and status = $2' end,
    case when of_pool is not null then 'and pool_id = $3' end,
    case when after_id is not null then 'and id > $4' end,
    case when in_order then 'order by id' end, case when most is not null then 'limit $5' end)
    using pattern, of_status, of_pool, after_id, most;
end $function$;
alter function search_sims(text,smallint,bigint,bigint,bigint,boolean) owner to simherd_search;
grant execute on function search_sims(text,smallint,bigint,bigint,bigint,boolean) to simherd_tenant;

CREATE OR REPLACE FUNCTION public.sims_with_iccids(iccids text[])
 RETURNS TABLE(iccid text, id bigint)
 LANGUAGE sql
 STABLE SECURITY DEFINER ROWS 10
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select s.iccid, s.id
    from unnest(iccids) as named(iccid)
   cross join lateral (
     select k.iccid, case when k.tenant_id = (select public.app_tenant()) then k.id end as id
       from public.sims k where k.iccid = named.iccid limit 1
   ) s
$function$;
alter function sims_with_iccids(text[]) owner to simherd_search;
grant execute on function sims_with_iccids(text[]) to simherd_tenant;

CREATE OR REPLACE FUNCTION public.usage_partition(first_day date)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
RETURN ('usage_records_'::text || to_char((first_day)::timestamp with time zone, 'YYYY_MM'::text));
