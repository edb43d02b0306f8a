-- Mails as they were rendered: what is sent, shown and sent again.

create table mail_bodies (
  mail_id text primary key,
  tenant_id text not null default app_tenant() references tenants (id),
  subject text not null,
  text text not null,
  html text not null,
  headers jsonb not null,                                  -- by name, beside those of every mail
  attachments jsonb not null,                              -- with their content, or what it is read from when the mail is sent
  created_at timestamptz not null
);
create index mail_bodies_age on mail_bodies (tenant_id, created_at);

alter table mail_bodies enable row level security;
alter table mail_bodies force row level security;
create policy own on mail_bodies to simherd_tenant using (tenant_id = app_tenant()) with check (tenant_id = app_tenant());
grant select, insert, delete on mail_bodies to simherd_tenant;

alter table mails
  add column kind text,                                    -- cause, joined, digest, grouped, summary, resent; null: made by a release before
  add column resends text;                                 -- the mail that this one sends again
