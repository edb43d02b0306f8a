-- Which ICCIDs are SIMs, of any tenant, as only the unique key of sims sees them else. A SIM of another tenant has no id.
-- It has the rights of the role of the search (0051_search_sims.sql). Each ICCID is looked up by its index.
grant create on schema public to simherd_search;
set local role simherd_search;
create function sims_with_iccids(iccids text[]) returns table (iccid text, id bigint)
  language sql stable security definer rows 10
  set search_path = pg_catalog, pg_temp
as $$
  select s.iccid, s.id
    from unnest(iccids) as named(iccid)
   cross join lateral (
     select k.iccid, case when k.tenant_id = (select public.app_tenant()) then k.id end as id
       from public.sims k where k.iccid = named.iccid limit 1
   ) s
$$;
revoke all on function sims_with_iccids from public;
grant execute on function sims_with_iccids to simherd_tenant;
reset role;
revoke create on schema public from simherd_search;
