-- Usage of a cycle that has ended by the time it is looked at is judged in that cycle too, until the cycle is closed.

alter table changed_subjects
  add column cycle_key text,                               -- of the usage; null: another change
  add column due_at timestamptz;                           -- when to look at them; null: now
