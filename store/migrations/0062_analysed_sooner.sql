-- PostgreSQL takes the rows of a tenant or a cycle that its statistics do not know for one, and chooses plans that go
-- through all of them. It analyses a table when a tenth of it has changed: in a large database a new tenant's estate is
-- less. With a fiftieth, autovacuum has been there within a few minutes.

alter table sims set (autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000);
alter table memberships set (autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000);
alter table usage_ledger set (autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000);
alter table pool_cycles set (autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000);
alter table sim_sightings set (autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000);
alter table active_spans set (autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000);
alter table tickets set (autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000);
alter table alerts set (autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000);
