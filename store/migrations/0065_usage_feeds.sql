-- When usage of a tenant was last received, whatever the instants of its records. One row a tenant, updated once a chunk.

create table usage_feeds (
  tenant_id text not null default app_tenant() primary key,
  received_at timestamptz not null,
  newest_at timestamptz                                    -- instant of the newest record; null: none yet
) with (fillfactor = 50);
alter table usage_feeds enable row level security;
alter table usage_feeds force row level security;
create policy own on usage_feeds to simherd_tenant using (tenant_id = app_tenant()) with check (tenant_id = app_tenant());
grant select, insert, update on usage_feeds to simherd_tenant;

insert into usage_feeds (tenant_id, received_at, newest_at)
select t.id, greatest(d.ended_at, b.newest_at), b.newest_at
  from tenants t
 cross join lateral (
   select max(starts_at) as newest_at from usage_buckets
    where tenant_id = t.id and subject_kind = 3 and subject_id = 0) b
  left join lateral (
   select ended_at from usage_deliveries
    where tenant_id = t.id and accepted > 0 and ended_at is not null
    order by id desc limit 1) d on true
 where b.newest_at is not null;
