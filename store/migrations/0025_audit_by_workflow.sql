-- no-transaction
-- What a workflow has asked for, in the audit trail.

drop index concurrently if exists audit_log_workflow;
create index concurrently audit_log_workflow on audit_log (tenant_id, workflow_id, id desc) where workflow_id is not null;
