-- phase: contract
-- no-transaction
-- What a SIM has used in a window is summed over its records. Its time buckets were kept for processes of the release
-- before, which read them. From this file on none is written (store/usage/sim-buckets.ts), and those there are go: 20,000
-- a transaction, in the order of the key, so that what is deleted is not read again. The owner is bound by the policies,
-- and needs one of its own.
-- blocks: nobody: what it deletes is neither read nor written any more; the policy is made in a moment

drop policy if exists emptied on usage_buckets;
create policy emptied on usage_buckets to current_user using (subject_kind = 1);

do $$ declare tenant text := ''; sim bigint := 0; begin loop
  with few as (
    select tenant_id, subject_id, starts_at from usage_buckets
     where subject_kind = 1 and (tenant_id, subject_kind, subject_id) >= (tenant, 1::smallint, sim)
     order by tenant_id, subject_kind, subject_id, starts_at limit 20000
  ), gone as (
    delete from usage_buckets b using few f
     where b.tenant_id = f.tenant_id and b.subject_kind = 1 and b.subject_id = f.subject_id and b.starts_at = f.starts_at
    returning b.tenant_id, b.subject_id
  )
  select tenant_id, subject_id into tenant, sim from gone order by 1 desc, 2 desc limit 1; exit when not found; commit
; end loop; end $$;

drop policy emptied on usage_buckets;
