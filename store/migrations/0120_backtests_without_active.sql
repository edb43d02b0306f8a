-- phase: contract
-- Backtests no longer replay the rules in force too.

alter table backtests drop column beside_active;
