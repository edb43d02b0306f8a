-- no-transaction
-- A claim of a mail looked through all mails that were ever sent.

create index concurrently if not exists mails_pending on mails (tenant_id, created_at) where status = 'pending';
