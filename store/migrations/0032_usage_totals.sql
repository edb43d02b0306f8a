-- What usage adds up to stays below 2^53, where sums are exact: a record that would take a total beyond is refused, and
-- its chunk goes on. Not valid: what an earlier version has let in is refused only when it is added to.

-- What the tenant has used in a cycle, for the constraint alone: it is not made up for what was counted before, or is
-- counted by processes of the release before.
alter table cycles
  add column bytes bigint not null default 0,
  add column voice_seconds bigint not null default 0,
  add column sms_count bigint not null default 0;

alter table usage_ledger add constraint usage_ledger_total
  check (greatest(abs(bytes), abs(voice_seconds), abs(sms_count)) <= 9000000000000000) not valid;
alter table pool_cycles add constraint pool_cycles_total
  check (greatest(abs(bytes), abs(voice_seconds), abs(sms_count)) <= 9000000000000000) not valid;
alter table cycles add constraint cycles_total
  check (greatest(abs(bytes), abs(voice_seconds), abs(sms_count)) <= 9000000000000000) not valid;
alter table usage_buckets add constraint usage_buckets_total
  check (greatest(abs(bytes), abs(voice_seconds), abs(sms_count)) <= 9000000000000000) not valid;
