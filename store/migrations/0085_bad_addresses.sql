-- The metric of addresses that are marked bad is read of all tenants at once.
create policy figures on addresses for select to simherd_platform using (true);
grant select (tenant_id, kind, email, bad_since) on addresses to simherd_platform;
