-- Allowance and overage of ledger rows: the set-wise twin of domain/allowance.ts.

-- The tariff that governs each ledger row, its limit, and its overage.
-- Rows of shared pools carry the overage of the pool's last division.
create view ledger_figures with (security_invoker = true) as
select l.tenant_id, l.cycle_key, l.sim_id, l.pool_id, l.tariff_id, l.contributing, l.bytes, l.voice_seconds, l.sms_count,
       g.id as governing_tariff_id,
       g.type as governing_type,
       case
         when not l.contributing or g.id is null then 0
         when g.type = 2 then case when pc.contributing > 0 then g.allowance_bytes / pc.contributing else 0 end
         else g.allowance_bytes
       end as limit_bytes,
       case
         when g.id is null then 0
         when g.type = 0 then greatest(0, l.bytes - case when l.contributing then g.allowance_bytes else 0 end)
         else l.overage_bytes
       end as overage_bytes
  from usage_ledger l
  left join pools p on p.id = l.pool_id
  left join tariffs pt on pt.id = p.tariff_id
  left join tariffs own on own.id = l.tariff_id
  left join tariffs g on g.id = case
    when l.pool_id = 0 then own.id
    when pt.type <> 0 then pt.id
    when own.type = 0 then own.id
    else pt.id
  end
  left join pool_cycles pc
    on pc.tenant_id = l.tenant_id and pc.cycle_key = l.cycle_key and pc.pool_id = l.pool_id;
grant select on ledger_figures to simherd_tenant;

-- Divides the overage of pools whose usage changed since the last division: at most once a usage version,
-- whole pools at a time, by largest remainder, ties to the lower SIM id.
-- The pools are locked by a statement of its own, so that the division reads what the lock protects: whoever
-- changes ledger rows takes the same locks first (store/cycles.ts: lockPools).
-- Only those are divided: a pool that becomes stale meanwhile is not locked, and its turn comes with the next read.
create function divide_overage(cycle text, pool_ids integer[]) returns void language plpgsql as $$
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
    select pc.pool_id, pc.usage_version, pc.bytes, pc.contributing, t.type,
           case when t.type = 2 then t.allowance_bytes else t.allowance_bytes * pc.contributing end as capacity
      from pool_cycles pc
      left join pools p on p.id = pc.pool_id
      left join tariffs t on t.id = p.tariff_id
     where pc.tenant_id = app_tenant() and pc.cycle_key = cycle and pc.pool_id = any(locked)
  ), shared as (
    select pool_id, greatest(0, bytes - capacity) as overage from stale where type <> 0
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
grant execute on function divide_overage(text, integer[]) to simherd_tenant;
