-- The search plans for a tenant of usual size, as all statements do (store/tenancy.ts: mine).
grant create on schema public to simherd_search;
set local role simherd_search;
create or replace function search_sims(pattern text, of_status smallint, of_pool bigint, after_id bigint, most bigint, in_order boolean)
  returns setof bigint
  language plpgsql stable security definer rows 100
  set search_path = pg_catalog, pg_temp
as $$
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
end $$;
reset role;
revoke create on schema public from simherd_search;
