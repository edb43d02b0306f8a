-- Tells the processes that know keys and tenants that one of them is changed or gone: `key <id>`, `tenant <id>`.
create or replace function notify_caller_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('simherd_callers', tg_argv[0] || ' ' || old.id);
  return null;
end $$;
