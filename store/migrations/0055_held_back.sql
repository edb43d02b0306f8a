-- no-transaction
-- Subjects held back after a failure are few. Every look at subjects asks for them.

create index concurrently if not exists due_subjects_held_back on due_subjects (tenant_id) where not_before is not null;
