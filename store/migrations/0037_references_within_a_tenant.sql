-- No row points at another tenant's, whatever a statement has been made to write: the tenant is part of each reference.
-- Tariffs are left out, because those of the platform belong to no tenant, and keys, because an operator's do not either.
-- Rows that were there before are looked at by 0038_references_checked.sql.

alter table active_spans add constraint active_spans_sim_id_tenant foreign key (tenant_id, sim_id) references sims (tenant_id, id) not valid;
alter table bulk_ticket_items add constraint bulk_ticket_items_bulk_id_tenant foreign key (tenant_id, bulk_id) references bulk_tickets (tenant_id, id) not valid;
alter table guard_permits add constraint guard_permits_hold_id_tenant foreign key (tenant_id, hold_id) references guard_holds (tenant_id, id) not valid;
alter table memberships add constraint memberships_sim_id_tenant foreign key (tenant_id, sim_id) references sims (tenant_id, id) not valid;
alter table month_end_changes add constraint month_end_changes_sim_id_tenant foreign key (tenant_id, sim_id) references sims (tenant_id, id) not valid;
alter table provision_batch_sims add constraint provision_batch_sims_batch_id_tenant foreign key (tenant_id, batch_id) references provision_batches (tenant_id, id) not valid;
alter table sims add constraint sims_order_id_tenant foreign key (tenant_id, order_id) references orders (tenant_id, id) not valid;
alter table sims add constraint sims_pending_pool_id_tenant foreign key (tenant_id, pending_pool_id) references pools (tenant_id, id) not valid;
alter table sims add constraint sims_pool_id_tenant foreign key (tenant_id, pool_id) references pools (tenant_id, id) not valid;
alter table suspensions add constraint suspensions_sim_id_tenant foreign key (tenant_id, sim_id) references sims (tenant_id, id) not valid;
alter table tickets add constraint tickets_bulk_id_tenant foreign key (tenant_id, bulk_id) references bulk_tickets (tenant_id, id) not valid;
alter table tickets add constraint tickets_sim_id_tenant foreign key (tenant_id, sim_id) references sims (tenant_id, id) not valid;
