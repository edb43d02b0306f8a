-- phase: contract
-- no-transaction
-- The release before reads these two indexes. Without an index that names the status, a change of it touches no index.

drop index concurrently if exists sims_active;
drop index concurrently if exists sims_outside_pools;
