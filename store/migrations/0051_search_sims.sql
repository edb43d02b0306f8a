-- A search over SIMs that an index serves. Under row-level security no index serves ilike, which is not leakproof.
-- So the search is a function of a role that sees the rows of all tenants. Its `tenant_id = app_tenant()` is the border.
-- blocks: nobody; a role is made where there is none, and PostgreSQL has no such statement but a do block

create extension if not exists pg_trgm;

do $$
begin
  if to_regrole('simherd_search') is null then
    create role simherd_search nologin;
  end if;
  execute format('grant simherd_search to %I', current_user);
  if current_setting('server_version_num')::integer >= 160000 then
    execute format('grant simherd_search to %I with inherit false', current_user);
  end if;
exception
  when invalid_grant_operation then null;
  -- Made at the same moment by the migrator of another database of the server.
  when duplicate_object then execute format('grant simherd_search to %I', current_user);
  when insufficient_privilege then
    raise exception '% may not make the role simherd_search, or take it on: as a superuser, run "create role simherd_search nologin" where there is none, then "grant simherd_search to % with admin true, inherit false", and migrate again', current_user, current_user;
end $$;

grant usage on schema public to simherd_search;
grant select (id, tenant_id, status, pool_id, iccid, imsi, msisdn, tag) on sims to simherd_search;
create policy search on sims for select to simherd_search using (true);

-- Ids of the SIMs with a text like this pattern, after an id: all, or so many of them, by id or as they are found.
-- No field has a line break that a pattern could name: store/estate/search.ts. Planned anew each time, for the pattern.
create function search_sims(pattern text, of_status smallint, of_pool bigint, after_id bigint, most bigint, in_order boolean)
  returns setof bigint
  language plpgsql stable security definer rows 100
  set search_path = pg_catalog, pg_temp
as $$
begin
  return query execute format(
    'select id from public.sims
      where tenant_id = public.app_tenant()
        and lower(iccid || e''\n'' || imsi || e''\n'' || msisdn || e''\n'' || tag) like lower($1) %s %s %s %s %s',
    case when of_status is not null then 'and status = $2' end,
    case when of_pool is not null then 'and pool_id = $3' end,
    case when after_id is not null then 'and id > $4' end,
    case when in_order then 'order by id' end, case when most is not null then 'limit $5' end)
    using pattern, of_status, of_pool, after_id, most;
end $$;
revoke all on function search_sims from public;
grant execute on function search_sims to simherd_tenant;

-- The new owner of a function needs the right to make one, for as long as it is handed over.
grant create on schema public to simherd_search;
alter function search_sims owner to simherd_search;
revoke create on schema public from simherd_search;
