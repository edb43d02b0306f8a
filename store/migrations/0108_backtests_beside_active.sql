-- A backtest may replay the rules in force too, and compare with what they would have done.

alter table backtests add column beside_active boolean not null default false; -- replays the rules in force too
