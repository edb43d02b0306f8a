-- What a backtest has shown: a rule that was backtested as it is may be promoted to enforce. Backtests before have shown nothing.

alter table backtests add column tested jsonb not null default '{}'; -- name of each rule that is not off: what it decides, hashed
