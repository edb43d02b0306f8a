-- Name of a month's partition.
create or replace function usage_partition(first_day date) returns text language sql immutable
  return 'usage_records_' || to_char(first_day, 'YYYY_MM');
