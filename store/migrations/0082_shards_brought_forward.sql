-- A shard's next instant is brought forward by what changes in it, also while it is looked at.

alter table watch_shards
  add column brought_at timestamptz;                       -- while it is looked at: the earliest instant asked for meanwhile
