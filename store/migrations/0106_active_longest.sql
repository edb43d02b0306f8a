-- no-transaction
-- Which SIM is Active for longest, by its span. Together with the counts of blocks it takes the place of two indexes
-- whose conditions name the status of a SIM (0107_sims_in_place): they had every change of a status written to all indexes.

create index concurrently if not exists active_spans_longest on active_spans (tenant_id, from_at) where to_at is null;
