-- A pool's figures cost what has changed in it, on estates of any size.
--
-- With the SIM in it the index leads to one row, whatever the planner knows of a table that has just been filled:
-- before, a division went through all rows of the pool for each of its rows.

drop index usage_ledger_pool;
create index usage_ledger_pool on usage_ledger (tenant_id, cycle_key, pool_id, sim_id);

-- Divides the overage of pools whose usage changed since the last division: at most once a usage version,
-- whole pools at a time, by largest remainder, ties to the lower SIM id.
-- The pools are locked by a statement of its own, so that the division reads what the lock protects: whoever
-- changes ledger rows takes the same locks first (store/cycles.ts: lockPools).
-- A pool that is not over and was not is passed over: its rows have no overage, so there is nothing to divide.
-- Only those that were locked are divided: a pool that becomes stale meanwhile is not locked, and its turn comes with
-- the next read.
create or replace function divide_overage(cycle text, pool_ids integer[]) returns void language plpgsql as $$
declare
  locked integer[];
begin
  select array_agg(pool_id) into locked
    from (select pool_id from pool_cycles
           where tenant_id = app_tenant() and cycle_key = cycle and pool_id = any(pool_ids)
             and divided_version < usage_version
           order by pool_id
             for update) stale;
  if locked is null then
    return;
  end if;
  with stale as (
    select pc.pool_id, pc.usage_version, pc.bytes, pc.contributing, pc.overage_bytes as divided_bytes, t.type,
           case when t.type = 2 then t.allowance_bytes else t.allowance_bytes * pc.contributing end as capacity
      from pool_cycles pc
      left join pools p on p.id = pc.pool_id
      left join tariffs t on t.id = p.tariff_id
     where pc.tenant_id = app_tenant() and pc.cycle_key = cycle and pc.pool_id = any(locked)
  ), shared as (
    select pool_id, greatest(0, bytes - capacity) as overage from stale
     where type <> 0 and (bytes > capacity or divided_bytes > 0)
  ), weighted as (
    select f.pool_id, f.sim_id, s.overage,
           greatest(0, f.bytes - f.limit_bytes)::numeric as excess, f.bytes::numeric as bytes,
           sum(greatest(0, f.bytes - f.limit_bytes)::numeric) over (partition by f.pool_id) as all_excess,
           sum(f.bytes::numeric) over (partition by f.pool_id) as all_bytes
      from shared s
      join ledger_figures f on f.tenant_id = app_tenant() and f.cycle_key = cycle and f.pool_id = s.pool_id
  ), parts as (
    select pool_id, sim_id, overage, div(overage * weight, total) as part, mod(overage * weight, total) as remainder
      from (select pool_id, sim_id, overage,
                   case when all_excess > 0 then excess else bytes end as weight,
                   greatest(1, case when all_excess > 0 then all_excess else all_bytes end) as total
              from weighted) w
  ), ranked as (
    select pool_id, sim_id, part,
           overage - sum(part) over (partition by pool_id) as left_over,
           row_number() over (partition by pool_id order by remainder desc, sim_id) as place
      from parts
  ), written as (
    update usage_ledger l
       set overage_bytes = (r.part + case when r.place <= r.left_over then 1 else 0 end)::bigint
      from ranked r
     where l.tenant_id = app_tenant() and l.cycle_key = cycle and l.pool_id = r.pool_id and l.sim_id = r.sim_id
       and l.overage_bytes <> (r.part + case when r.place <= r.left_over then 1 else 0 end)::bigint
  ), standard as (
    select s.pool_id, coalesce(sum(f.limit_bytes), 0)::bigint as limit_bytes,
           coalesce(sum(f.overage_bytes), 0)::bigint as overage_bytes,
           coalesce(sum(greatest(0, f.limit_bytes - f.bytes)), 0)::bigint as remaining_bytes
      from stale s
      left join ledger_figures f on f.tenant_id = app_tenant() and f.cycle_key = cycle and f.pool_id = s.pool_id
     where s.type is null or s.type = 0
     group by s.pool_id
  )
  update pool_cycles pc
     set divided_version = s.usage_version,
         limit_bytes = case when s.type <> 0 then s.capacity else st.limit_bytes end,
         overage_bytes = case when s.type <> 0 then greatest(0, s.bytes - s.capacity) else st.overage_bytes end,
         remaining_bytes = case when s.type <> 0 then greatest(0, s.capacity - s.bytes) else st.remaining_bytes end
    from stale s
    left join standard st on st.pool_id = s.pool_id
   where pc.tenant_id = app_tenant() and pc.cycle_key = cycle and pc.pool_id = s.pool_id;
end $$;
