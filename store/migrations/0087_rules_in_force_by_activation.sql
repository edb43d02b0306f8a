-- phase: contract
-- Only the release before read which version is in force from rule_sets. From now on a version is never changed.
-- blocks: rule_sets, for a moment: columns and triggers go without its rows being read

drop trigger rule_activation_noted on rule_activations;
drop function rule_activation_noted();
drop trigger rule_set_activated on rule_sets;
drop function rule_set_activated();
alter table rule_sets drop column active, drop column activated_at, drop column refused_at;
revoke update on rule_sets from simherd_platform;
