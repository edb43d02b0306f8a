-- The parts behind `divided_overage`: each row's part of its pool's overage, rounded down, and its place by remainder.
-- `left_over` is the number of bytes that go to the first places of the pool.
create or replace function divide_into_parts(cycle text, pool_ids integer[])
returns table (pool_id integer, sim_id bigint, part numeric, remainder numeric, place bigint, left_over numeric)
language sql stable as $$
  -- Pool by pool (`limit`, `offset`): PostgreSQL takes the rows of a cycle that it has no statistics of for one, and
  -- would join all of them with all pools.
  with overs as materialized (
    select p.pool_id, p.overage_bytes::numeric as overage, greatest(1, p.excess_bytes)::numeric as total
      from unnest(pool_ids) as ids(id)
     cross join lateral (
       select f.pool_id, f.is_shared, f.overage_bytes, f.excess_bytes from pool_figures f
        where f.tenant_id = app_tenant() and f.cycle_key = cycle and f.pool_id = ids.id
        limit 1
     ) p
     where p.is_shared and p.overage_bytes > 0
  ), weighted as (
    select o.pool_id, f.sim_id, o.overage, o.total, f.excess_bytes::numeric as weight
      from overs o
     cross join lateral (
       select l.sim_id, l.excess_bytes from ledger_figures l
        where l.tenant_id = app_tenant() and l.cycle_key = cycle and l.pool_id = o.pool_id
       offset 0
     ) f
  ), parts as (
    select w.pool_id, w.sim_id, w.overage, div(w.overage * w.weight, w.total) as part,
           mod(w.overage * w.weight, w.total) as remainder
      from weighted w
  )
  select pool_id, sim_id, part, remainder,
         row_number() over (partition by pool_id order by remainder desc, sim_id),
         overage - sum(part) over (partition by pool_id)
    from parts
$$;
