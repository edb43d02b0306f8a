-- API processes keep keys and tenants in memory (api/http/key-cache.ts). They hear of each change of one.
-- The last use of a key is no such change.

create function notify_caller_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('simherd_callers', tg_argv[0] || ' ' || old.id);
  return null;
end $$;

create trigger api_keys_told
  after update of id, tenant_id, scopes, secret_hash, expires_at, revoked_at or delete on api_keys
  for each row execute function notify_caller_change('key');
create trigger tenants_told after update of id or delete on tenants
  for each row execute function notify_caller_change('tenant');
