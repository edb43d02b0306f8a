-- Makes the partition of a month that has none.
-- Returns its name; null where there was one, or where the month's records lie in the default partition, which goes with
-- a later migration.
create or replace function make_usage_partition(first_day date) returns text language plpgsql
security definer set search_path = public, pg_temp set lock_timeout = '3s' set timezone = 'UTC' as $$
declare
  name constant text := usage_partition(first_day);
  until constant date := first_day + interval '1 month';
  found boolean;
begin
  if extract(day from first_day) <> 1 then
    raise exception 'make_usage_partition: got %, expected the first day of a month', first_day;
  end if;
  perform pg_advisory_xact_lock(hashtext('simherd.partitions'));
  -- Of the table of tables itself: a session's cache of names does not know yet what another made while this one waited.
  if exists (select from pg_class where relname = name and relnamespace = 'public'::regnamespace) then return null; end if;
  if to_regclass('usage_records_default') is not null then
    execute 'select exists (select from usage_records_default where at >= $1 and at < $2)'
      into found using first_day::timestamptz, until::timestamptz;
    if found then return null; end if;
  end if;
  execute format('create table %I (like usage_records including all)', name);
  execute format('alter table usage_records attach partition %I for values from (%L) to (%L)',
                 name, first_day::timestamptz, until::timestamptz);
  return name;
end $$;
