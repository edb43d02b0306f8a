-- phase: contract
-- Only the release before asked each shard which version it was looked at by: a tenant that hears of a change has all looked at.
-- blocks: watch_shards, for a moment: a column goes without its rows being read

alter table watch_shards drop column rules_version;
