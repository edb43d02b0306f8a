-- no-transaction
-- Lists of what is pending or firing, without those that have ended.

create index concurrently if not exists alerts_open on alerts (tenant_id, rule, subject_kind, subject_id, scope)
  where state ->> 'phase' in ('pending', 'firing');
