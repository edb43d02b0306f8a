-- Who changed what on whose behalf, when, from what to what. Written in the transaction of the change; never changed.

create table audit_log (
  id bigint generated always as identity primary key,
  tenant_id text,                                          -- null: the platform's own keys, tariffs, prices, tenants
  at timestamptz not null,
  key_id text not null,                                    -- the API key it came with
  request_id text not null,
  action text not null,                                    -- operation of the interface: operationId
  subject text not null,                                   -- store/audit.ts: AuditSubject
  subject_id text not null,
  before jsonb,                                            -- what changed, as it was; null: it was not there
  after jsonb                                              -- as it is; null: it is gone
);
create index audit_log_tenant on audit_log (tenant_id, id desc);
create index audit_log_subject on audit_log (tenant_id, subject, subject_id, id desc);

alter table audit_log enable row level security;
alter table audit_log force row level security;
create policy own on audit_log to simherd_tenant using (tenant_id = app_tenant()) with check (tenant_id = app_tenant());
-- The platform makes and revokes the keys of tenants, so it writes of all, and reads of none but itself.
create policy written_of_all on audit_log for insert to simherd_platform with check (true);
create policy own_read on audit_log for select to simherd_platform using (tenant_id is null);
grant select, insert on audit_log to simherd_tenant, simherd_platform;
