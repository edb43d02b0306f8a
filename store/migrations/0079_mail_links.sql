-- Links in mails: the key that signs them, and what they can change of a tenant.

-- One row, which the first process that needs it makes. Without it, or with another, links that were mailed end.
create table mail_link_key (
  id boolean primary key default true check (id),
  key bytea not null,
  created_at timestamptz not null
);
grant select, insert on mail_link_key to simherd_platform;

alter table tenants
  add column mails_from smallint not null default 0 check (mails_from in (0, 1, 2)); -- LogLevel: alerts below it are not mailed
