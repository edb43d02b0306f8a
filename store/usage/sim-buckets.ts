/**
 * Time buckets of SIMs. This release sums windows over the records; processes of the release before read the buckets, and
 * move them with a SIM. So they are written until the migration below says that no such process is left. This file goes
 * with the next release.
 */
import { sql } from 'kysely'
import { SUBJECT_CODES } from '../../domain/watchdog/subject.ts'
import type { TenantTx } from '../tenancy.ts'

const NOT_READ_SINCE = '0059_no_sim_buckets'

/** Adds the staged records to the time buckets of their SIMs, as long as somebody may read these. */
export async function addToSimBuckets(tx: TenantTx): Promise<void> {
  await sql`
    insert into usage_buckets as b (subject_kind, subject_id, starts_at, bytes, voice_seconds, sms_count)
    select ${SUBJECT_CODES.sim}::smallint, sim_id, bucket_at, sum(bytes_up + bytes_down)::bigint,
           sum(voice_seconds)::bigint, sum(sms_count)::bigint
      from usage_stage
     where not exists (select from kysely_migration where name = ${NOT_READ_SINCE})
     group by sim_id, bucket_at
     order by sim_id, bucket_at
    on conflict (tenant_id, subject_kind, subject_id, starts_at) do update
      set bytes = b.bytes + excluded.bytes, voice_seconds = b.voice_seconds + excluded.voice_seconds,
          sms_count = b.sms_count + excluded.sms_count`.execute(tx.q)
}
