-- no-transaction
-- What the platform may read for figures of all tenants together: instants, states, counts, and to which address a mail went.
-- blocks: each of the tables, one after the other and for a moment: a policy reads no row

drop policy if exists figures on notifications;
create policy figures on notifications for select to simherd_platform using (true);
grant select (tenant_id, mail_id, due_at) on notifications to simherd_platform;
drop policy if exists figures on mails;
create policy figures on mails for select to simherd_platform using (true);
grant select (tenant_id, recipient, status, created_at, sent_at) on mails to simherd_platform;
drop policy if exists figures on guard_holds;
create policy figures on guard_holds for select to simherd_platform using (true);
grant select (state, cycle_ends_at) on guard_holds to simherd_platform;
drop policy if exists figures on usage_feeds;
create policy figures on usage_feeds for select to simherd_platform using (true);
grant select (tenant_id, received_at) on usage_feeds to simherd_platform;
drop policy if exists figures on sim_blocks;
create policy figures on sim_blocks for select to simherd_platform using (true);
grant select (tenant_id, status, sims) on sim_blocks to simherd_platform;
