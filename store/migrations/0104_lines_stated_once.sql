-- no-transaction
-- A line is stated once. A process of the release before writes a whole statement in one transaction: where slices of it
-- are written already, it is refused. The index takes the place of one over the same columns.

drop index concurrently if exists statements_once;
create unique index concurrently statements_once on statements (tenant_id, cycle_key, pool_id, sim_id, adjusts)
  nulls not distinct;
drop index concurrently if exists statements_cycle;
