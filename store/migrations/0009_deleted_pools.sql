-- A deleted pool is gone for every caller; its row stays, because ledger, statements and logs go on naming it, and
-- what it was used for in a cycle is charged by its tariff when the cycle is closed.

alter table pools add column deleted_at timestamptz;
