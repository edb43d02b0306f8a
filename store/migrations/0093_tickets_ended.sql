-- no-transaction
-- Tickets that were done or failed lately, which a rule about them counts.

drop index concurrently if exists tickets_ended;
create index concurrently tickets_ended on tickets (tenant_id, finished_at) include (status) where status in (2, 3);
