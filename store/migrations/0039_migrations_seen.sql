-- A login that owns nothing sees which migrations there are: readiness asks for it, outside of any tenant.
grant select on kysely_migration to public;
