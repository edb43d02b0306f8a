-- The division of overage by itself, for those who keep it (divide_overage) and for those who only look (a plan):
-- whole pools, by largest remainder, ties to the lower SIM id. Pools that are not over have no rows in it.
create or replace function divided_overage(cycle text, pool_ids integer[])
returns table (pool_id integer, sim_id bigint, overage_bytes bigint) language sql stable as $$
  with shared as (
    select pc.pool_id,
           pc.bytes - case when t.type = 2 then t.allowance_bytes else t.allowance_bytes * pc.contributing end as overage
      from pool_cycles pc
      join pools p on p.id = pc.pool_id
      join tariffs t on t.id = p.tariff_id
     where pc.tenant_id = app_tenant() and pc.cycle_key = cycle and pc.pool_id = any(pool_ids) and t.type <> 0
       and pc.bytes > case when t.type = 2 then t.allowance_bytes else t.allowance_bytes * pc.contributing end
  ), weighted as (
    select f.pool_id, f.sim_id, s.overage,
           greatest(0, f.bytes - f.limit_bytes)::numeric as excess, f.bytes::numeric as bytes,
           sum(greatest(0, f.bytes - f.limit_bytes)::numeric) over (partition by f.pool_id) as all_excess,
           sum(f.bytes::numeric) over (partition by f.pool_id) as all_bytes
      from shared s
      join ledger_figures f on f.tenant_id = app_tenant() and f.cycle_key = cycle and f.pool_id = s.pool_id
  ), parts as (
    select w.pool_id, w.sim_id, w.overage, div(w.overage * w.weight, w.total) as part,
           mod(w.overage * w.weight, w.total) as remainder
      from (select pool_id, sim_id, overage,
                   case when all_excess > 0 then excess else bytes end as weight,
                   greatest(1, case when all_excess > 0 then all_excess else all_bytes end) as total
              from weighted) w
  ), ranked as (
    select pool_id, sim_id, part,
           overage - sum(part) over (partition by pool_id) as left_over,
           row_number() over (partition by pool_id order by remainder desc, sim_id) as place
      from parts
  )
  select r.pool_id, r.sim_id, (r.part + case when r.place <= r.left_over then 1 else 0 end)::bigint
    from ranked r
$$;
