-- Seeing the activation codes of eSIMs is a scope of its own: keys of tenants that write have had it so far.
-- blocks: whoever makes or uses a key, for the moment in which some keys are changed

alter table api_keys no force row level security;
update api_keys set scopes = scopes || 'esim'::text
 where tenant_id is not null and scopes && array['write', 'admin'] and not 'esim' = any(scopes);
alter table api_keys force row level security;
