-- phase: contract
-- The stage of a rule is that of its file, and no backtest is asked for.
-- blocks: backtests, for a moment: a column goes without its rows being read

drop table rule_stages;
alter table backtests drop column tested;
