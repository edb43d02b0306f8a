-- A subject that cannot be evaluated or written waits by itself: the others of its batch go on without it.
alter table due_subjects
  add column failures integer not null default 0,          -- in a row; 0 after one that did not fail
  add column not_before timestamptz;                       -- it is not tried before; null: as soon as it is due
