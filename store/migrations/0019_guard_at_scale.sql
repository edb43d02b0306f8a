-- The guard counts in pools' own counts and in indexes, not in the estate.
create index sims_outside_pools on sims (tenant_id, id) where pool_id is null and status <> 0;
create index guard_permits_counted on guard_permits (tenant_id, rule, rule_version, pool_id, at) where counts;
drop index guard_permits_count;

-- Requests are claimed oldest first; most are done.
create index workflow_outbox_open on workflow_outbox (id) where done_at is null;
