-- A tariff is withdrawn from new assignments and offered again; everything else of it stays as it was made, because
-- cycles that have passed were charged by it.

alter table tariffs add column version integer not null default 1;
grant update (is_active, version) on tariffs to simherd_tenant, simherd_platform;
create policy own_offer on tariffs for update to simherd_tenant
  using (tenant_id = app_tenant()) with check (tenant_id = app_tenant());
