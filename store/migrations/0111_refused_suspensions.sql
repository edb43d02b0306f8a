alter table workflow_starts add column refused_at timestamptz;
comment on column workflow_starts.refused_at is
  'when the carrier refused for good to suspend its SIM; null if it did not, or a person has asked again since';
