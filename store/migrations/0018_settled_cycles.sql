-- A cycle may be opened before it begins, by a record that is ahead; its first renewal states anew who contributes to it.
alter table cycles add column settled_at timestamptz default now();
-- Those that are there stay as they are stated.
alter table cycles alter column settled_at drop default;
