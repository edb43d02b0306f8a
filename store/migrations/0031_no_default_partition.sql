-- phase: contract
-- No usage record lies outside of a month's partition any more: a default partition would have to be searched, under an
-- exclusive lock, whenever a month is made. What lies in it moves to its months.
-- blocks: writing into the default partition while its rows move, and all usage for the moment in which it is detached

do $$
declare
  month date;
  name text;
begin
  set local timezone = 'UTC';
  lock table usage_records_default in share row exclusive mode;
  for month in select distinct date_trunc('month', at)::date from usage_records_default order by 1 loop
    name := usage_partition(month);
    execute format('create table %I (like usage_records including all)', name);
    execute format('with moved as (delete from usage_records_default where at >= %L and at < %L returning *)
                    insert into %I select * from moved',
                   month::timestamptz, (month + interval '1 month')::timestamptz, name);
    execute format('alter table usage_records attach partition %I for values from (%L) to (%L)',
                   name, month::timestamptz, (month + interval '1 month')::timestamptz);
  end loop;
end $$;
alter table usage_records detach partition usage_records_default;
drop table usage_records_default;
