-- Of shared pools that are over: the overage, the excess that it is divided by, and where the bytes left over end. Each
-- ledger row gets `overage × excess ÷ excess of the pool`, rounded down. The bytes left over go one each to the largest
-- remainders, in ties to the lower SIM id: `remainder` and `sim_id` are of the last row that gets one. They are null if
-- nothing is left over, and in pools with more than `most` ledger rows (null: no limit).
-- Not in language sql: PostgreSQL would inline it, and make its plan ready in each read of a SIM. Few need it.
-- In TypeScript: `divideBytes`, domain/usage/allowance.ts. A row's part: `OVERAGE_BYTES`, service/usage/rows/figures.ts.
create or replace function overage_places(cycle text, pool_ids integer[], most integer)
returns table (pool_id integer, overage numeric, excess numeric, remainder numeric, sim_id bigint)
language plpgsql stable as $$
#variable_conflict use_column
begin
  if pool_ids is null then return; end if;
  return query
  -- Pool by pool (`limit`, `offset`): PostgreSQL takes the rows of a cycle that it has no statistics of for one, and
  -- would join all of them with all pools.
  select p.pool_id, p.overage, p.excess, l.remainder, l.sim_id
    from unnest(pool_ids) as ids(id)
   cross join lateral (
     select f.pool_id, f.overage_bytes::numeric as overage, greatest(1, f.excess_bytes)::numeric as excess, f.is_shared
       from pool_figures f
      where f.tenant_id = app_tenant() and f.cycle_key = cycle and f.pool_id = ids.id
      limit 1
   ) p
    left join lateral (
      select r.remainder, r.sim_id
        from (select f.sim_id, mod(p.overage * f.excess_bytes, p.excess) as remainder,
                     row_number() over (order by mod(p.overage * f.excess_bytes, p.excess) desc, f.sim_id) as place,
                     p.overage - sum(div(p.overage * f.excess_bytes, p.excess)) over () as left_over
                from ledger_figures f
               where f.tenant_id = app_tenant() and f.cycle_key = cycle and f.pool_id = p.pool_id
                 and (most is null
                      or (select count(*) from (select from usage_ledger l
                                                 where l.tenant_id = app_tenant() and l.cycle_key = cycle
                                                   and l.pool_id = p.pool_id
                                                 limit most + 1) counted) <= most)) r
       where r.place = r.left_over
    ) l on true
   where p.is_shared and p.overage > 0;
end $$;
