-- Which version of the rules is in force: the newest row counts, and none is ever changed. While processes of the release
-- before are at work, triggers keep rule_sets.active in step, in both directions.
-- blocks: rule_sets, for a moment: it has a row for each version that was ever loaded

create table rule_activations (
  id bigint generated always as identity primary key,
  version integer not null references rule_sets (version),
  at timestamptz not null,
  author text not null,                                    -- as the caller gave it
  actor text,                                              -- key:<id>, service:<process>, …; null: not known
  reason text,                                             -- null: none was given
  request_id text
);
create index rule_activations_version on rule_activations (version, id desc);

alter table rule_sets add column actor text;               -- who brought the version in
alter table rule_sets add column reason text;
alter table rule_sets add column request_id text;

alter table rule_sets no force row level security;
insert into rule_activations (version, at, author)
select version, activated_at, author from rule_sets where activated_at is not null order by active, activated_at, version;
alter table rule_sets force row level security;

alter table rule_activations enable row level security;
alter table rule_activations force row level security;
create policy readable on rule_activations for select to simherd_tenant using (true);
create policy all_activations on rule_activations to simherd_platform using (true) with check (true);
grant select on rule_activations to simherd_tenant;
grant select, insert on rule_activations to simherd_platform;

create function rule_activation_noted() returns trigger language plpgsql as $$ begin
  update rule_sets set active = false where active and version <> new.version;
  update rule_sets set active = true, activated_at = new.at where version = new.version and not active;
  return null;
end $$;
create trigger rule_activation_noted after insert on rule_activations
  for each row execute function rule_activation_noted();

create function rule_set_activated() returns trigger language plpgsql as $$ begin
  if new.version is distinct from (select version from rule_activations order by id desc limit 1) then
    insert into rule_activations (version, at, author) values (new.version, new.activated_at, new.author);
  end if;
  return null;
end $$;
create trigger rule_set_activated after update of active on rule_sets
  for each row when (new.active and not old.active) execute function rule_set_activated();
