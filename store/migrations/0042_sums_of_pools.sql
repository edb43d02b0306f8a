-- A pool's sums over its ledger rows are kept with every change: nothing is divided when figures are read.
-- They are right while summed_version = usage_version. Otherwise readers add up the rows: a process of the previous
-- release has changed the pool, or a Fixed pool has another number of contributing SIMs, which changes every share.

alter table pool_cycles
  add column excess_bytes bigint not null default 0,      -- bytes of rows above their limits
  add column summed_version bigint not null default 0;    -- usage_version of limit_bytes, excess_bytes, remaining_bytes

create or replace view ledger_figures with (security_invoker = true) as
select l.tenant_id, l.cycle_key, l.sim_id, l.pool_id, l.tariff_id, l.contributing, l.bytes, l.voice_seconds, l.sms_count,
       g.id as governing_tariff_id, g.type as governing_type, r.limit_bytes,
       -- For the previous release. In a shared pool this is the last division that it stored.
       case when g.id is null then 0
            when g.type = 0 then greatest(0, l.bytes - case when l.contributing then g.allowance_bytes else 0 end)
            else l.overage_bytes end as overage_bytes,
       case when g.id is null then 0 else greatest(0, l.bytes - r.limit_bytes) end as excess_bytes,
       l.pool_id <> 0 and g.type <> 0 as is_shared
  from usage_ledger l
  left join pools p on p.id = l.pool_id
  left join tariffs pt on pt.id = p.tariff_id
  left join tariffs own on own.id = l.tariff_id
  left join tariffs g on g.id = case when l.pool_id = 0 then own.id
                                     when pt.type <> 0 then pt.id
                                     when own.type = 0 then own.id
                                     else pt.id end
  left join pool_cycles pc on pc.tenant_id = l.tenant_id and pc.cycle_key = l.cycle_key and pc.pool_id = l.pool_id
  cross join lateral (
    select case when not l.contributing or g.id is null then 0
                when g.type = 2 then case when pc.contributing > 0 then g.allowance_bytes / pc.contributing else 0 end
                else g.allowance_bytes end as limit_bytes) r;

-- Limit, usage, overage and remaining bytes of pools, each row of one moment. Pool 0: SIMs outside pools.
create view pool_figures with (security_invoker = true) as
select pc.tenant_id, pc.cycle_key, pc.pool_id, pc.usage_version, pc.bytes, pc.voice_seconds, pc.sms_count,
       pc.contributing, c.is_shared,
       case when c.is_shared then c.capacity else s.limit_bytes end as limit_bytes,
       case when c.is_shared then greatest(0, pc.bytes - c.capacity) else s.excess_bytes end as overage_bytes,
       case when c.is_shared then greatest(0, c.capacity - pc.bytes) else s.remaining_bytes end as remaining_bytes,
       s.excess_bytes
  from pool_cycles pc
  left join pools p on p.id = pc.pool_id
  left join tariffs t on t.id = p.tariff_id
  cross join lateral (
    select coalesce(t.type, 0) <> 0 as is_shared,
           case t.type when 2 then t.allowance_bytes when 1 then t.allowance_bytes * pc.contributing end as capacity) c
  cross join lateral (
    select pc.limit_bytes, pc.excess_bytes, pc.remaining_bytes where pc.summed_version = pc.usage_version
    union all
    select sum_rows.limit_bytes, sum_rows.excess_bytes, sum_rows.remaining_bytes
      from (select coalesce(sum(f.limit_bytes) filter (where not c.is_shared), 0)::bigint as limit_bytes,
                   coalesce(sum(f.excess_bytes), 0)::bigint as excess_bytes,
                   coalesce(sum(greatest(0, f.limit_bytes - f.bytes)) filter (where not c.is_shared), 0)::bigint
                     as remaining_bytes
              from ledger_figures f
             where f.tenant_id = pc.tenant_id and f.cycle_key = pc.cycle_key and f.pool_id = pc.pool_id) sum_rows
     where pc.summed_version <> pc.usage_version) s;
grant select on pool_figures to simherd_tenant;
