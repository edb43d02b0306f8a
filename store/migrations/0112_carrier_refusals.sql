-- Whether the carrier refuses our credentials: for all workers that have the same.

create table carrier_refusals (
  credential text primary key,                             -- fingerprint of address and secret, by scrypt
  since timestamptz not null,                              -- refused first, since it was accepted last
  probes integer not null,                                 -- refused since then
  probe_at timestamptz not null,                           -- when the next ticket may be sent to see
  told_at timestamptz,                                     -- null: people were never told
  ended_at timestamptz                                     -- null: it is refused
);

alter table carrier_refusals enable row level security;
alter table carrier_refusals force row level security;
create policy readable on carrier_refusals for select to simherd_tenant using (true);
create policy all_refusals on carrier_refusals to simherd_platform using (true) with check (true);
grant select on carrier_refusals to simherd_tenant;
grant select, insert, update on carrier_refusals to simherd_platform;
