-- How many SIMs there are, by 4,096 ids and status: lists know their totals and find their pages without counting.
-- Kept by the transactions themselves, which write them last (store/tally.ts). They say so by the setting app.tallies.
-- For all others, processes of the release before and SQL by hand, a trigger counts at their commit.
-- blocks: writers of SIMs, while the SIMs are counted once: about a second for a million

-- No reference to tenants: a new row would lock the tenant's, after all else.
create table sim_blocks (
  tenant_id text not null default app_tenant(),
  block bigint not null,                                   -- id >> 12
  status smallint not null check (status in (0, 1, 2)),    -- SimStatus
  sims integer not null,
  primary key (tenant_id, block, status)
) with (fillfactor = 50);

alter table sim_blocks enable row level security;
alter table sim_blocks force row level security;
create policy own on sim_blocks to simherd_tenant using (tenant_id = app_tenant()) with check (tenant_id = app_tenant());
grant select, insert, update on sim_blocks to simherd_tenant;

create function count_sim_in_blocks() returns trigger language plpgsql as $$
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

-- Keeps writers of SIMs waiting until the end of this file. They are counted below or by the trigger, never by both.
create constraint trigger sims_in_blocks after insert or update of status or delete on sims
  deferrable initially deferred for each row
  when (current_setting('app.tallies', true) is distinct from 'on')
  execute function count_sim_in_blocks();

-- The role of the search sees the SIMs of all tenants. The owner is bound by the policies, and sees none.
create policy filled on sim_blocks for insert to simherd_search with check (true);
grant insert on sim_blocks to simherd_search;
set local role simherd_search;
insert into sim_blocks (tenant_id, block, status, sims)
select tenant_id, id >> 12, status, count(*) from sims group by 1, 2, 3;
reset role;
revoke insert on sim_blocks from simherd_search;
drop policy filled on sim_blocks;
