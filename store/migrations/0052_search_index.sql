-- no-transaction
-- What the function search_sims reads (0051_search_sims.sql).

drop index concurrently if exists sims_search;
create index concurrently sims_search on sims
  using gin (lower(iccid || e'\n' || imsi || e'\n' || msisdn || e'\n' || tag) gin_trgm_ops);
-- Without figures about the new index the planner would guess how rare a text is.
analyze sims;
