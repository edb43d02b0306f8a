-- Keeps the division of pools whose usage changed since the last one: at most once a usage version.
-- The pools are locked by a statement of its own, so that the division reads what the lock protects: whoever
-- changes ledger rows takes the same locks first (store/usage/cycles.ts: lockPools).
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
  ), divided as (
    update usage_ledger l set overage_bytes = d.overage_bytes
      from divided_overage(cycle, array(select pool_id from stale where type <> 0 and bytes > capacity)) d
     where l.tenant_id = app_tenant() and l.cycle_key = cycle and l.pool_id = d.pool_id and l.sim_id = d.sim_id
       and l.overage_bytes <> d.overage_bytes
  ), no_longer_over as (
    update usage_ledger l set overage_bytes = 0
      from stale s
     where s.type <> 0 and s.bytes <= s.capacity and s.divided_bytes > 0
       and l.tenant_id = app_tenant() and l.cycle_key = cycle and l.pool_id = s.pool_id and l.overage_bytes <> 0
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
