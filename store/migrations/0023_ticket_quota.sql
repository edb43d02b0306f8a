-- Tickets that persons ask for count in their tenant's quota while they are open: an index of just those.

alter table tickets add column counts boolean not null default false;
alter table tickets no force row level security;
update tickets set counts = true where status in (0, 1) and cause ->> 'by' = 'user' and bulk_id is null;
alter table tickets force row level security;
create index tickets_counted on tickets (tenant_id) where counts and status in (0, 1);
