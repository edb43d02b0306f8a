-- A set that was accepted by one build may be refused by another: the newest that it accepts stays in force there.
alter table rule_sets add column refused_at timestamptz; -- when it was told that a build refuses it; null: none did
