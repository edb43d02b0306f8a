-- Tickets that persons ask for count in their tenant's quota while they are open: the index of just those is in
-- 0026_indexes_in_use.sql.
-- blocks: tickets, while those that are open are marked: they are few

alter table tickets add column counts boolean not null default false;
alter table tickets no force row level security;
update tickets set counts = true where status in (0, 1) and cause ->> 'by' = 'user' and bulk_id is null;
alter table tickets force row level security;
