-- no-transaction
-- Lists of open alerts, with those that recover.

create index concurrently if not exists alerts_not_ended on alerts (tenant_id, rule, subject_kind, subject_id, scope)
  where state ->> 'phase' in ('pending', 'firing', 'recovering');
