-- Every record changes a row of the ledger and the totals of a pool. With room on its page a row is changed without
-- touching an index. Pages that are full already get room as their rows are changed.

alter table usage_ledger set (fillfactor = 50);
alter table pool_cycles set (fillfactor = 50);
