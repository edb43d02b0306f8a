-- Where the bytes left over end in each pool that is over: remainder and id of the last SIM that gets one. A row gets a
-- byte if its remainder is larger, or the same and its id not higher. Pools with more than `most` ledger rows, and
-- pools whose parts leave nothing over, have no row in it.
create or replace function overage_places(cycle text, pool_ids integer[], most integer)
returns table (pool_id integer, remainder numeric, sim_id bigint) language sql stable as $$
  with small as (
    select id from unnest(pool_ids) as p(id)
     where (select count(*) from (select from usage_ledger l
                                   where l.tenant_id = app_tenant() and l.cycle_key = cycle and l.pool_id = p.id
                                   limit most + 1) counted) <= most
  )
  select r.pool_id, r.remainder, r.sim_id
    from divide_into_parts(cycle, array(select id from small)) r
   where r.place = r.left_over
$$;
