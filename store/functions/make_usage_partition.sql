-- Makes the partition of a month that has none.
-- Returns its name; null where there was one.
create or replace function make_usage_partition(first_day date) returns text language plpgsql
security definer set search_path = public, pg_temp set lock_timeout = '3s' set timezone = 'UTC' as $$
declare
  name constant text := usage_partition(first_day);
  until constant date := first_day + interval '1 month';
begin
  if extract(day from first_day) <> 1 then
    raise exception 'make_usage_partition: got %, expected the first day of a month', first_day;
  end if;
  perform pg_advisory_xact_lock(hashtext('simherd.partitions'));
  -- Of the table of tables itself: a session's cache of names does not know yet what another made while this one waited.
  if exists (select from pg_class where relname = name and relnamespace = 'public'::regnamespace) then return null; end if;
  execute format('create table %I (like usage_records including all)', name);
  execute format('alter table usage_records attach partition %I for values from (%L) to (%L)',
                 name, first_day::timestamptz, until::timestamptz);
  return name;
end $$;
revoke execute on function make_usage_partition(date) from public;
grant execute on function make_usage_partition(date) to simherd_platform;
