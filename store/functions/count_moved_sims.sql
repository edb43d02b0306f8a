-- Counts the SIMs of pools after a statement: one update a pool, by id, however many SIMs have moved. So a batch of
-- SIMs makes one version of its pool's row, and two batches lock their pools in one order.
create or replace function count_moved_sims() returns trigger language plpgsql as $$
declare d record;
begin
  for d in
    select pool_id, sum(active)::integer as active, sum(total)::integer as total
      from (select pool_id, case when status = 1 then -1 else 0 end, -1 from was
             union all
            select pool_id, case when status = 1 then 1 else 0 end, 1 from became) v(pool_id, active, total)
     where pool_id is not null
     group by pool_id
    having sum(active) <> 0 or sum(total) <> 0
     order by pool_id
  loop
    update pools
       set active_sim_count = active_sim_count + d.active, total_sim_count = total_sim_count + d.total
     where id = d.pool_id;
  end loop;
  return null;
end $$;
