-- phase: contract
-- An alert has the comparisons of its rule. The index alerts_not_ended has what alerts_open has, and more.
-- blocks: alerts, for as long as it takes to read them

alter table alerts alter column explanation set not null;
drop index alerts_open;
