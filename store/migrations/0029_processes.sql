-- Processes of the service that are at work, and the newest migration each of them knows: what an older one needs is not
-- taken away under it (`simherd migrate --contract`).

create table processes (
  id text primary key,                                     -- made when it starts
  kind text not null check (kind in ('api', 'worker')),
  host text not null,
  pid integer not null,
  newest_migration text not null,
  started_at timestamptz not null,
  seen_at timestamptz not null                             -- every ten seconds; a process that was killed stays as it was last seen
);
grant select, insert, update, delete on processes to simherd_platform;
