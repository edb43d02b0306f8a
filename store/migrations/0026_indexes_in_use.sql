-- no-transaction
-- Indexes of tables that are in use: what a workflow has asked for, in the audit trail; tickets that count in a quota.

drop index concurrently if exists audit_log_workflow;
create index concurrently audit_log_workflow on audit_log (tenant_id, workflow_id, id desc) where workflow_id is not null;
drop index concurrently if exists tickets_counted;
create index concurrently tickets_counted on tickets (tenant_id) where counts and status in (0, 1);
