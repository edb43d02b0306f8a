-- What an entry of the log rests on: values of facts, stage, mode, and what was decided. Entries before have none.

alter table watchdog_log add column grounds jsonb;
