-- The SIMs of pools are counted once a statement, not once a SIM: a batch of 50 tickets made 50 versions of its pool's row.
-- The trigger takes the place of the one before under its name. It runs for every update of SIMs: one with transition
-- tables can have neither columns nor a condition on rows. count_pool_sims stays: replays of the release before call it.

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

create or replace trigger sims_counted after update on sims referencing old table as was new table as became
  for each statement execute function count_moved_sims();

-- With room on its page, a SIM whose status changes is written where it is.
alter table sims set (fillfactor = 80);
