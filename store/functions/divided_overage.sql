-- Divides the overage of shared pools among their ledger rows: by excess, rounded down; the bytes left over go one each
-- to the largest remainders, in ties to the lower SIM id. Pools that are not over have no rows in it.
-- Source: domain/usage/allowance.ts, `divideBytes`.
create or replace function divided_overage(cycle text, pool_ids integer[])
returns table (pool_id integer, sim_id bigint, overage_bytes bigint) language sql stable as $$
  select r.pool_id, r.sim_id, (r.part + case when r.place <= r.left_over then 1 else 0 end)::bigint
    from divide_into_parts(cycle, pool_ids) r
$$;
