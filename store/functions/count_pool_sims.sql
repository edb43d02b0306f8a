-- A SIM that moves counts in two pools: one after the other, by id. One update of both locks them in the order in which
-- its plan finds the rows, and SIMs that moved between the same pools at once waited for each other in a circle.
create or replace function count_pool_sims() returns trigger language plpgsql as $$
declare d record;
begin
  for d in
    select pool_id, sum(active)::integer as active, sum(total)::integer as total
      from (values (old.pool_id, case when old.status = 1 then -1 else 0 end, -1),
                   (new.pool_id, case when new.status = 1 then 1 else 0 end, 1)) v(pool_id, active, total)
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
