-- The tenant of this transaction; null where none is set, and then no row is seen.
create or replace function app_tenant() returns text language sql stable
  return nullif(current_setting('app.tenant', true), '');
