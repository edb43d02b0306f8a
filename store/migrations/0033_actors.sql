-- Who changed something, also without an API key: key:<id>, cli:<user>@<host>, or service:<process>.

alter table audit_log add column actor text;               -- null: an entry of before, which came with its key
alter table audit_log alter column key_id drop not null;
