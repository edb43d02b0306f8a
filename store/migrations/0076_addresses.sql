-- Where a tenant's mails go beside its billing address: copies, escalations, and billing addresses that are being changed.
--
-- A tenant whose billing address has never changed has no row of it: that address counts as confirmed.

create table addresses (
  id integer generated always as identity primary key,
  tenant_id text not null default app_tenant() references tenants (id),
  kind text not null check (kind in ('billing', 'copy', 'escalation')),
  email text not null,
  level smallint check (level in (0, 1, 2)),               -- LogLevel: mails of this one at least; null: all
  rules text,                                              -- a pattern with *: mails about such rules; null: all
  confirmed_at timestamptz,                                -- billing: since when it is known to be right
  bad_since timestamptz,                                   -- since when no server takes mails for it
  created_at timestamptz not null,
  created_by text                                          -- actor of the audit trail; null: the service
);
create unique index addresses_email on addresses (tenant_id, kind, lower(email));

alter table addresses enable row level security;
alter table addresses force row level security;
create policy own on addresses to simherd_tenant using (tenant_id = app_tenant()) with check (tenant_id = app_tenant());
grant select, insert, update, delete on addresses to simherd_tenant;
