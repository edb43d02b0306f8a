-- Counts a change of a SIM's status in sim_blocks, for writers that do not do it themselves. Runs at their commit.
create or replace function count_sim_in_blocks() returns trigger language plpgsql as $$
begin
  insert into sim_blocks as b (tenant_id, block, status, sims)
  select v.tenant_id, v.id >> 12, v.status, sum(v.sims)
    from (values (old.tenant_id, old.id, old.status, -1), (new.tenant_id, new.id, new.status, 1)) v(tenant_id, id, status, sims)
   where v.id is not null
   group by 1, 2, 3
  having sum(v.sims) <> 0
   order by 1, 2, 3
  on conflict (tenant_id, block, status) do update set sims = b.sims + excluded.sims;
  return null;
end $$;
