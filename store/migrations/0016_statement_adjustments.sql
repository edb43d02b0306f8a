-- What comes for a cycle after its statement becomes adjustment lines of the next statement.

-- Pools (0: outside pools) of closed cycles whose ledger has changed since they were last stated. Set by whoever changes
-- the ledger, under the lock of the pool's totals; taken away by the close that states the difference.
create table restatements (
  tenant_id text not null default app_tenant(),
  cycle_key text not null,
  pool_id integer not null,
  primary key (tenant_id, cycle_key, pool_id)
);

alter table statements drop constraint statements_kind_check;
alter table statements add constraint statements_kind_check check (kind in ('sim', 'pool', 'empty', 'adjustment'));
alter table statements add column adjusts text;            -- adjustments: the closed cycle they are of
alter table statements add constraint statements_adjusts_check check ((kind = 'adjustment') = (adjusts is not null));
create index statements_lines on statements (tenant_id, cycle_key, id);
create index statements_sim on statements (tenant_id, sim_id, cycle_key) where sim_id is not null;
create index statements_adjusts on statements (tenant_id, adjusts, pool_id) where adjusts is not null;

-- What the lines of a statement add up to, so that a page of them does not add them all up. Money in micro-units.
create table statement_totals (
  tenant_id text not null default app_tenant(),
  cycle_key text not null,
  lines integer not null,                                  -- without the line of an empty cycle
  total_micro bigint not null,
  primary key (tenant_id, cycle_key)
);
-- Statements made so far; row-level security binds the owner, too, unless it is lifted for the moment.
alter table statements no force row level security;
insert into statement_totals (tenant_id, cycle_key, lines, total_micro)
select tenant_id, cycle_key, count(*) filter (where kind <> 'empty'),
       sum(fee_micro + sms_micro + voice_micro + overage_micro)
  from statements
 group by tenant_id, cycle_key;
alter table statements force row level security;

do $$
declare t text;
begin
  foreach t in array array['restatements', 'statement_totals'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy own on %I to simherd_tenant using (tenant_id = app_tenant()) with check (tenant_id = app_tenant())', t);
    execute format('grant select, insert on %I to simherd_tenant', t);
  end loop;
end $$;
grant delete on restatements to simherd_tenant;

-- The division of overage by itself, for those who keep it (divide_overage) and for those who only look (a plan):
-- whole pools, by largest remainder, ties to the lower SIM id. Pools that are not over have no rows in it.
create function divided_overage(cycle text, pool_ids integer[])
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
grant execute on function divided_overage(text, integer[]) to simherd_tenant;

-- Keeps the division of pools whose usage changed since the last one: at most once a usage version.
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
