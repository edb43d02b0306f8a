-- A key that was rotated names the key that took its place; it is not rotated a second time.
alter table api_keys add column replaced_by text references api_keys;
