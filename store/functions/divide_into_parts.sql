-- The parts behind `divided_overage`: each row's part of its pool's overage, rounded down, and its place by remainder.
-- `left_over` is the number of bytes that go to the first places of the pool.
create or replace function divide_into_parts(cycle text, pool_ids integer[])
returns table (pool_id integer, sim_id bigint, part numeric, remainder numeric, place bigint, left_over numeric)
language sql stable as $$
  with weighted as (
    select p.pool_id, f.sim_id, p.overage_bytes::numeric as overage, f.excess_bytes::numeric as weight,
           greatest(1, p.excess_bytes)::numeric as total
      from pool_figures p
      join ledger_figures f
        on f.tenant_id = app_tenant() and f.cycle_key = cycle and f.pool_id = p.pool_id
     where p.tenant_id = app_tenant() and p.cycle_key = cycle and p.pool_id = any(pool_ids)
       and p.is_shared and p.overage_bytes > 0
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
