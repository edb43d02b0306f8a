-- no-transaction
-- Each of these reads its table while it goes on being written.

alter table active_spans validate constraint active_spans_sim_id_tenant;
alter table bulk_ticket_items validate constraint bulk_ticket_items_bulk_id_tenant;
alter table guard_permits validate constraint guard_permits_hold_id_tenant;
alter table memberships validate constraint memberships_sim_id_tenant;
alter table month_end_changes validate constraint month_end_changes_sim_id_tenant;
alter table provision_batch_sims validate constraint provision_batch_sims_batch_id_tenant;
alter table sims validate constraint sims_order_id_tenant;
alter table sims validate constraint sims_pending_pool_id_tenant;
alter table sims validate constraint sims_pool_id_tenant;
alter table suspensions validate constraint suspensions_sim_id_tenant;
alter table tickets validate constraint tickets_bulk_id_tenant;
alter table tickets validate constraint tickets_sim_id_tenant;
-- The same without the tenant.
alter table active_spans drop constraint if exists active_spans_sim_id_fkey;
alter table bulk_ticket_items drop constraint if exists bulk_ticket_items_bulk_id_fkey;
alter table guard_permits drop constraint if exists guard_permits_hold_id_fkey;
alter table memberships drop constraint if exists memberships_sim_id_fkey;
alter table month_end_changes drop constraint if exists month_end_changes_sim_id_fkey;
alter table provision_batch_sims drop constraint if exists provision_batch_sims_batch_id_fkey;
alter table sims drop constraint if exists sims_order_id_fkey;
alter table sims drop constraint if exists sims_pending_pool_id_fkey;
alter table sims drop constraint if exists sims_pool_id_fkey;
alter table suspensions drop constraint if exists suspensions_sim_id_fkey;
alter table tickets drop constraint if exists tickets_bulk_id_fkey;
alter table tickets drop constraint if exists tickets_sim_id_fkey;
