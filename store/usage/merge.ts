/**
 * Counts the staged records: stores them, and adds them to all that sums them up. Every function is a statement or two,
 * whatever the size of the chunk.
 */

import { sql } from 'kysely'
import { SUBJECT_CODES } from '../../domain/watchdog/subject.ts'
import type { TenantTx } from '../tenancy.ts'
import { summedAfter } from './pool-totals.ts'
import { restating } from './restatements.ts'

/**
 * Takes the tenant's merge lock until this transaction ends: one chunk of a tenant is counted at a time. Take it before
 * all others.
 */
export async function lockMerge(tx: TenantTx): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtext('simherd.merge'), hashtext(${tx.tenantId}))`.execute(tx.q)
}

/**
 * Stores the staged records and sums them into `usage_sums`.
 *
 * @returns how many were stored; fewer than staged if a process of the previous release has stored some meanwhile
 */
export async function storeRecords(tx: TenantTx, deliveryId: number | null): Promise<number> {
  const { rows } = await sql<{ stored: number }>`
    with stored as (
      insert into usage_records (record_id, at, sim_id, pool_id, cycle_key, bytes_up, bytes_down, voice_seconds,
                                 sms_count, imei, correction, received_at, delivery_id)
      select record_id, at, sim_id, pool_id, cycle_key, bytes_up, bytes_down, voice_seconds, sms_count, imei,
             correction, ${tx.now}::timestamptz, ${deliveryId}::bigint
        from usage_stage
      on conflict do nothing
      returning 1
    ), sums as (
      insert into usage_sums
      select cycle_key, sim_id, pool_id, bucket_at, sum(bytes_up + bytes_down), sum(voice_seconds), sum(sms_count),
             count(*), max(at)
        from usage_stage group by cycle_key, sim_id, pool_id, bucket_at
    )
    select count(*)::integer as stored from stored`.execute(tx.q)
  return rows[0]?.stored ?? 0
}

/**
 * Adds the sums to the ledger and to the pools' totals. If a cycle is closed, the next statement will have the
 * difference. Call with the cycles and the pools locked.
 */
export async function addToLedger(tx: TenantTx): Promise<void> {
  const added = sql`(
    select cycle_key, sim_id, pool_id, sum(bytes)::bigint as bytes, sum(voice_seconds)::bigint as voice_seconds,
           sum(sms_count)::bigint as sms_count
      from usage_sums group by cycle_key, sim_id, pool_id)`
  const { rows } = await sql<{ isComplete: boolean }>`
    with changed as (
      update usage_ledger l
         set bytes = l.bytes + r.bytes, voice_seconds = l.voice_seconds + r.voice_seconds,
             sms_count = l.sms_count + r.sms_count
        from ${added} r
       where l.tenant_id = ${tx.tenantId} and l.cycle_key = r.cycle_key and l.sim_id = r.sim_id
         and l.pool_id = r.pool_id
      returning 1
    )
    select (select count(*) from changed) = (select count(*) from ${added} r) as "isComplete"`.execute(tx.q)
  // A SIM's first usage in the cycle and pool. The tariff is the last one of the membership in the cycle, not the one at
  // the record's instant. Tickets set later tariffs.
  if (rows[0]?.isComplete !== true) {
    await sql`
      insert into usage_ledger (cycle_key, sim_id, pool_id, tariff_id, bytes, voice_seconds, sms_count)
      select r.cycle_key, r.sim_id, r.pool_id,
             (select m.tariff_id from memberships m
               where m.sim_id = r.sim_id and m.pool_id = r.pool_id and m.from_at < c.ends_at
                 and coalesce(m.to_at, 'infinity') > greatest(m.from_at, c.starts_at)
               order by m.from_at desc limit 1),
             r.bytes, r.voice_seconds, r.sms_count
        from ${added} r
        join cycles c on c.tenant_id = ${tx.tenantId} and c.key = r.cycle_key
       where not exists (select from usage_ledger l
                          where l.tenant_id = ${tx.tenantId} and l.cycle_key = r.cycle_key and l.sim_id = r.sim_id
                            and l.pool_id = r.pool_id)
       order by r.cycle_key, r.sim_id, r.pool_id`.execute(tx.q)
  }
  await restating(
    tx,
    sql`
      update pool_cycles p
         set bytes = p.bytes + r.bytes, voice_seconds = p.voice_seconds + r.voice_seconds,
             sms_count = p.sms_count + r.sms_count, excess_bytes = p.excess_bytes + r.excess,
             remaining_bytes = p.remaining_bytes + r.remaining, usage_version = p.usage_version + 1,
             summed_version = ${summedAfter(sql`false`)}
        from (select r.cycle_key as "cycleKey", r.pool_id as "poolId", sum(r.bytes)::bigint as bytes,
                     sum(r.voice_seconds)::bigint as voice_seconds, sum(r.sms_count)::bigint as sms_count,
                     sum(f.excess_bytes - case when f.governing_type is null then 0
                                               else greatest(0, f.bytes - r.bytes - f.limit_bytes) end)::bigint as excess,
                     coalesce(sum(greatest(0, f.limit_bytes - f.bytes) - greatest(0, f.limit_bytes - f.bytes + r.bytes))
                       filter (where not coalesce(f.is_shared, false)), 0)::bigint as remaining
                from ${added} r
                join ledger_figures f on f.tenant_id = ${tx.tenantId} and f.cycle_key = r.cycle_key
                 and f.sim_id = r.sim_id and f.pool_id = r.pool_id
               group by r.cycle_key, r.pool_id) r
       where p.tenant_id = ${tx.tenantId} and p.cycle_key = r."cycleKey" and p.pool_id = r."poolId"`,
  ).execute(tx.q)
}

/** Adds the sums to the time buckets behind the facts over windows. */
export async function addToBuckets(tx: TenantTx): Promise<void> {
  await sql`
    insert into usage_buckets as b (subject_kind, subject_id, starts_at, bytes, voice_seconds, sms_count)
    select s.kind, s.id, r.bucket_at, sum(r.bytes)::bigint, sum(r.voice_seconds)::bigint, sum(r.sms_count)::bigint
      from usage_sums r
      cross join lateral (values (${SUBJECT_CODES.sim}::smallint, r.sim_id), (${SUBJECT_CODES.pool}::smallint, r.pool_id),
                                 (${SUBJECT_CODES.tenant}::smallint, 0)) as s(kind, id)
     where s.kind <> ${SUBJECT_CODES.pool} or s.id <> 0
     group by s.kind, s.id, r.bucket_at
     order by s.kind, s.id, r.bucket_at
    on conflict (tenant_id, subject_kind, subject_id, starts_at) do update
      set bytes = b.bytes + excluded.bytes, voice_seconds = b.voice_seconds + excluded.voice_seconds,
          sms_count = b.sms_count + excluded.sms_count`.execute(tx.q)
}

/**
 * Records when SIMs were last seen, and in which device: by the newest record that names one. The device before is kept,
 * so that a change shows.
 *
 * @param hasDevices whether a record of the chunk names a device
 */
export async function noteSightings(tx: TenantTx, hasDevices: boolean): Promise<void> {
  await sql`
    insert into sim_sightings as g (sim_id, last_seen_at, imei, previous_imei)
    select sim_id, max(last_at), '', '' from usage_sums group by sim_id order by sim_id
    on conflict (tenant_id, sim_id) do update
      set last_seen_at = greatest(g.last_seen_at, excluded.last_seen_at)`.execute(tx.q)
  if (!hasDevices) return
  await sql`
    update sim_sightings g
       set imei = d.imei, imei_seen_at = d.at,
           previous_imei = case when s.imei in ('', d.imei) then s.previous_imei else s.imei end
      from (select distinct on (sim_id) sim_id, imei, at from usage_stage
             where imei is not null order by sim_id, at desc, n) d
      join sim_seen s on s.tenant_id = ${tx.tenantId} and s.sim_id = d.sim_id
     where g.tenant_id = ${tx.tenantId} and g.sim_id = d.sim_id
       and (s.imei_seen_at is null or d.at > s.imei_seen_at)`.execute(tx.q)
}

/** Marks the SIMs and pools with usage, and the tenant, due now. */
export async function markUsageDue(tx: TenantTx): Promise<void> {
  await sql`
    insert into due_subjects as d (subject_kind, subject_id, due_at, seq)
    select kind, id, ${tx.now}::timestamptz, nextval('due_seq')
      from (select ${SUBJECT_CODES.sim}::smallint as kind, sim_id as id from usage_sums
             union select ${SUBJECT_CODES.pool}, pool_id from usage_sums where pool_id <> 0
             union select ${SUBJECT_CODES.tenant}, 0
             order by kind, id) s
    on conflict (tenant_id, subject_kind, subject_id) do update
      set due_at = least(d.due_at, excluded.due_at), seq = excluded.seq`.execute(tx.q)
  tx.enqueue({ queue: 'evaluate' })
}

/**
 * Adds to the cycles' counts of received records, and to the tenant's usage in them.
 *
 * @param duplicates numbers of duplicates, by cycle
 */
export async function countRecords(tx: TenantTx, duplicates: ReadonlyMap<string, number>): Promise<void> {
  const known = [...duplicates].map(([key, count]) => ({ key, count }))
  const counted = sql`(
    select coalesce(r.key, k.key) as key, coalesce(r.records, 0) as records, coalesce(k.count, 0) as duplicates,
           coalesce(r.bytes, 0) as bytes, coalesce(r.voice_seconds, 0) as voice_seconds,
           coalesce(r.sms_count, 0) as sms_count
      from (select cycle_key as key, sum(records) as records, sum(bytes)::bigint as bytes,
                   sum(voice_seconds)::bigint as voice_seconds, sum(sms_count)::bigint as sms_count
              from usage_sums group by cycle_key) r
      full join jsonb_to_recordset(${JSON.stringify(known)}::jsonb) as k(key text, count bigint) on k.key = r.key)`
  // Locked in key order first. An update alone would lock the rows in whatever order it finds them.
  await sql`
    select from cycles where tenant_id = ${tx.tenantId} and key in (select key from ${counted} x)
     order by key
       for no key update`.execute(tx.q)
  await sql`
    update cycles c
       set records_accepted = c.records_accepted + r.records, records_duplicate = c.records_duplicate + r.duplicates,
           bytes = c.bytes + r.bytes, voice_seconds = c.voice_seconds + r.voice_seconds,
           sms_count = c.sms_count + r.sms_count, version = c.version + 1
      from ${counted} r
     where c.tenant_id = ${tx.tenantId} and c.key = r.key`.execute(tx.q)
}
