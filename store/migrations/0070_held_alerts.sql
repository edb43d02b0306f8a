-- no-transaction
-- What a hold of alerts waits for.

create index concurrently if not exists alerts_held on alerts (tenant_id, (state #>> '{guard,hold}'))
  where state #>> '{guard,is}' = 'held';
