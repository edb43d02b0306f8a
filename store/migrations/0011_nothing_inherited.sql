-- The login role takes on its two roles, and has none of their rights by itself: a statement outside of store/tenancy.ts
-- sees no row, of the platform's tables neither. PostgreSQL 15 has no such grant: there the login role is NOINHERIT.

do $$
begin
  if current_setting('server_version_num')::integer >= 160000 then
    execute format('grant simherd_tenant, simherd_platform to %I with inherit false', current_user);
  end if;
exception when invalid_grant_operation then null;
end $$;
