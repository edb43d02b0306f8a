/**
 * Usage records and their sums. Every function works on sets: the number of statements does not grow with the chunk.
 */

import { sql } from 'kysely'
import type { ReadRecord } from '../../domain/usage/usage-record.ts'
import { type SubjectKind, toCoded } from '../../domain/watchdog/subject.ts'
import type { TenantTx } from '../tenancy.ts'
import { summedAfter } from './pool-totals.ts'
import { restating } from './restatements.ts'

/** The part of a locked SIM that usage reads and changes. */
export interface UsageSim {
  readonly simId: number
  readonly iccid: string
  readonly imei: string
  readonly imeiSeenAt: Date | null
}

/** Locks the SIMs that a chunk names by ICCID or id, in id order. SIMs that do not exist are left out. */
export async function lockUsageSims(
  tx: TenantTx,
  iccids: readonly string[],
  simIds: readonly number[],
): Promise<UsageSim[]> {
  const { rows } = await sql<UsageSim>`
    select id as "simId", iccid, imei, imei_seen_at as "imeiSeenAt"
      from sims where iccid = any(${[...iccids]}::text[]) or id = any(${[...simIds]}::bigint[])
     order by id
       for no key update`.execute(tx.q)
  return rows
}

/** A record with its SIM, pool and billing cycle. */
export interface PlacedRecord extends ReadRecord {
  readonly simId: number
  /** Pool that the SIM was in at the record's instant; 0: none. */
  readonly poolId: number
  readonly cycleKey: string
}

/**
 * The pool of a SIM at each given instant, in the given order. 0 if the SIM was in no pool then.
 *
 * @param asked `at` in epoch milliseconds
 */
export async function placesAt(
  tx: TenantTx,
  asked: readonly { readonly simId: number; readonly at: number }[],
): Promise<number[]> {
  const { rows } = await sql<{ poolId: number }>`
    select coalesce(m.pool_id, 0) as "poolId"
      from rows from (jsonb_to_recordset(${JSON.stringify(asked)}::jsonb) as ("simId" bigint, at double precision))
           with ordinality as a("simId", at, n)
      left join lateral (
        select pool_id from memberships m
         where m.sim_id = a."simId" and m.from_at <= to_timestamp(a.at / 1000)
           and (m.to_at is null or m.to_at > to_timestamp(a.at / 1000))
         order by m.from_at desc limit 1) m on true
     order by a.n`.execute(tx.q)
  return rows.map(({ poolId }) => poolId)
}

/** Stored records with the identities of a chunk, by {@link identity}. */
export async function storedRecords(tx: TenantTx, records: readonly ReadRecord[]): Promise<Map<string, StoredRecord>> {
  const identities = records.map(({ recordId, at }) => ({ recordId, at: new Date(at).toISOString() }))
  const { rows } = await sql<StoredRecord & { recordId: string; at: Date }>`
    select u.record_id as "recordId", u.at, u.sim_id as "simId", u.bytes_up as "bytesUp", u.bytes_down as "bytesDown",
           u.voice_seconds as "voiceSeconds", u.sms_count as "smsCount", u.imei, u.correction
      from jsonb_to_recordset(${JSON.stringify(identities)}::jsonb) as i("recordId" text, at timestamptz)
      join usage_records u on u.tenant_id = ${tx.tenantId} and u.record_id = i."recordId" and u.at = i.at`.execute(tx.q)
  return new Map(rows.map(({ recordId, at, ...content }) => [identity({ recordId, at: at.getTime() }), content]))
}

/** The content of a record, which must not change under the same identity. */
export interface StoredRecord {
  readonly simId: number
  readonly bytesUp: number
  readonly bytesDown: number
  readonly voiceSeconds: number
  readonly smsCount: number
  readonly imei: string | null
  readonly correction: boolean
}

/** What identifies a record: its instant in epoch milliseconds and its record id. */
export const identity = (record: { readonly recordId: string; readonly at: number }) =>
  `${record.at}/${record.recordId}`

/** Inserts records, and skips those that already exist. @returns identities of the inserted records */
export async function insertRecords(
  tx: TenantTx,
  records: readonly PlacedRecord[],
  deliveryId: number | null,
): Promise<Set<string>> {
  const values = records.map((record) => ({ ...record, at: new Date(record.at).toISOString() }))
  const { rows } = await sql<{ recordId: string; at: Date }>`
    insert into usage_records (record_id, at, sim_id, pool_id, cycle_key, bytes_up, bytes_down, voice_seconds, sms_count,
                               imei, correction, received_at, delivery_id)
    select "recordId", at, "simId", "poolId", "cycleKey", "bytesUp", "bytesDown", "voiceSeconds", "smsCount", imei,
           correction, ${tx.now}, ${deliveryId}::bigint
      from jsonb_to_recordset(${JSON.stringify(values)}::jsonb) as r(
        "recordId" text, at timestamptz, "simId" bigint, "poolId" integer, "cycleKey" text, "bytesUp" bigint,
        "bytesDown" bigint, "voiceSeconds" bigint, "smsCount" bigint, imei text, correction boolean)
     order by "recordId", at
    on conflict do nothing
    returning record_id as "recordId", at`.execute(tx.q)
  return new Set(rows.map(({ recordId, at }) => identity({ recordId, at: at.getTime() })))
}

export interface LedgerKey {
  readonly cycleKey: string
  readonly simId: number
  readonly poolId: number
}
export interface Amounts {
  readonly bytes: number
  readonly voiceSeconds: number
  readonly smsCount: number
}

/** Current ledger sums of these keys. Rows that do not exist are left out. */
export async function ledgerSums(tx: TenantTx, keys: readonly LedgerKey[]): Promise<(LedgerKey & Amounts)[]> {
  const { rows } = await sql<LedgerKey & Amounts>`
    select l.cycle_key as "cycleKey", l.sim_id as "simId", l.pool_id as "poolId", l.bytes,
           l.voice_seconds as "voiceSeconds", l.sms_count as "smsCount"
      from jsonb_to_recordset(${JSON.stringify(keys)}::jsonb) as k("cycleKey" text, "simId" bigint, "poolId" integer)
      join usage_ledger l on l.tenant_id = ${tx.tenantId} and l.cycle_key = k."cycleKey" and l.sim_id = k."simId"
       and l.pool_id = k."poolId"`.execute(tx.q)
  return rows
}

/**
 * Adds usage to the ledger and to the pools' totals. If a cycle is closed, the next statement will have the difference.
 * Call with the cycles and the pools locked.
 */
export async function addToLedger(tx: TenantTx, rows: readonly (LedgerKey & Amounts)[]): Promise<void> {
  const json = JSON.stringify(rows)
  const set = sql`jsonb_to_recordset(${json}::jsonb) as r("cycleKey" text, "simId" bigint, "poolId" integer,
    bytes bigint, "voiceSeconds" bigint, "smsCount" bigint)`
  // Rows are made empty and then added to: a correction may be negative, and an inserted row may not. The tariff is the
  // last one of the membership in the cycle, not the one at the record's instant. Tickets set later tariffs.
  await sql`
    insert into usage_ledger (cycle_key, sim_id, pool_id, tariff_id)
    select r."cycleKey", r."simId", r."poolId",
           (select m.tariff_id from memberships m
             where m.sim_id = r."simId" and m.pool_id = r."poolId" and m.from_at < c.ends_at
               and coalesce(m.to_at, 'infinity') > greatest(m.from_at, c.starts_at)
             order by m.from_at desc limit 1)
      from ${set}
      join cycles c on c.tenant_id = ${tx.tenantId} and c.key = r."cycleKey"
     where not exists (select 1 from usage_ledger l
                        where l.tenant_id = ${tx.tenantId} and l.cycle_key = r."cycleKey" and l.sim_id = r."simId"
                          and l.pool_id = r."poolId")
     order by r."cycleKey", r."simId", r."poolId"
    on conflict do nothing`.execute(tx.q)
  await sql`
    update usage_ledger l
       set bytes = l.bytes + r.bytes, voice_seconds = l.voice_seconds + r."voiceSeconds",
           sms_count = l.sms_count + r."smsCount"
      from ${set}
     where l.tenant_id = ${tx.tenantId} and l.cycle_key = r."cycleKey" and l.sim_id = r."simId"
       and l.pool_id = r."poolId"`.execute(tx.q)
  await restating(
    tx,
    sql`
      update pool_cycles p
         set bytes = p.bytes + r.bytes, voice_seconds = p.voice_seconds + r."voiceSeconds",
             sms_count = p.sms_count + r."smsCount", excess_bytes = p.excess_bytes + r.excess,
             remaining_bytes = p.remaining_bytes + r.remaining, usage_version = p.usage_version + 1,
             summed_version = ${summedAfter(sql`false`)}
        from (select r."cycleKey", r."poolId", sum(r.bytes)::bigint as bytes,
                     sum(r."voiceSeconds")::bigint as "voiceSeconds", sum(r."smsCount")::bigint as "smsCount",
                     sum(f.excess_bytes - case when f.governing_type is null then 0
                                               else greatest(0, f.bytes - r.bytes - f.limit_bytes) end)::bigint as excess,
                     coalesce(sum(greatest(0, f.limit_bytes - f.bytes) - greatest(0, f.limit_bytes - f.bytes + r.bytes))
                       filter (where not coalesce(f.is_shared, false)), 0)::bigint as remaining
                from ${set}
                join ledger_figures f on f.tenant_id = ${tx.tenantId} and f.cycle_key = r."cycleKey"
                 and f.sim_id = r."simId" and f.pool_id = r."poolId"
               group by r."cycleKey", r."poolId") r
       where p.tenant_id = ${tx.tenantId} and p.cycle_key = r."cycleKey" and p.pool_id = r."poolId"`,
  ).execute(tx.q)
}

export interface BucketRow extends Amounts {
  readonly kind: SubjectKind
  readonly id: number
  /** Start of the bucket, epoch milliseconds. */
  readonly startsAt: number
}

/** Adds usage to the time buckets behind the facts over windows. */
export async function addToBuckets(tx: TenantTx, buckets: readonly BucketRow[]): Promise<void> {
  await sql`
    insert into usage_buckets as b (subject_kind, subject_id, starts_at, bytes, voice_seconds, sms_count)
    select kind, id, to_timestamp("startsAt" / 1000), bytes, "voiceSeconds", "smsCount"
      from jsonb_to_recordset(${JSON.stringify(buckets.map(toCoded))}::jsonb) as r(kind smallint, id bigint,
        "startsAt" double precision, bytes bigint, "voiceSeconds" bigint, "smsCount" bigint)
     order by kind, id, "startsAt"
    on conflict (tenant_id, subject_kind, subject_id, starts_at) do update
      set bytes = b.bytes + excluded.bytes, voice_seconds = b.voice_seconds + excluded.voice_seconds,
          sms_count = b.sms_count + excluded.sms_count`.execute(tx.q)
}

export interface Sighting {
  readonly simId: number
  /** Epoch milliseconds. */
  readonly lastSeenAt: number
  /**
   * Newest IMEI in the chunk, and its instant in epoch milliseconds; null if the chunk has none newer than the stored.
   */
  readonly imei: string | null
  readonly imeiSeenAt: number | null
}

/** Records when SIMs were last seen, and in which device. The previous device is kept, so that a change shows. */
export async function noteSightings(tx: TenantTx, sightings: readonly Sighting[]): Promise<void> {
  await sql`
    update sims s
       set last_seen_at = greatest(s.last_seen_at, to_timestamp(r."lastSeenAt" / 1000)),
           previous_imei = case when r.imei is null or s.imei in ('', r.imei) then s.previous_imei else s.imei end,
           imei = coalesce(r.imei, s.imei),
           imei_seen_at = coalesce(to_timestamp(r."imeiSeenAt" / 1000), s.imei_seen_at)
      from jsonb_to_recordset(${JSON.stringify(sightings)}::jsonb) as r("simId" bigint, "lastSeenAt" double precision,
        imei text, "imeiSeenAt" double precision)
     where s.id = r."simId"`.execute(tx.q)
}

export interface CycleCounts extends Amounts {
  readonly cycleKey: string
  readonly accepted: number
  readonly duplicates: number
}

/** Adds to a cycle's counts of received records, and to the tenant's usage in it. */
export async function countRecords(tx: TenantTx, counts: readonly CycleCounts[]): Promise<void> {
  // Lock in key order first. An update alone would lock the rows in whatever order it finds them.
  await sql`
    select 1 from cycles
     where tenant_id = ${tx.tenantId} and key = any(${counts.map(({ cycleKey }) => cycleKey)}::text[])
     order by key
       for no key update`.execute(tx.q)
  await sql`
    update cycles c
       set records_accepted = c.records_accepted + r.accepted, records_duplicate = c.records_duplicate + r.duplicates,
           bytes = c.bytes + r.bytes, voice_seconds = c.voice_seconds + r."voiceSeconds",
           sms_count = c.sms_count + r."smsCount", version = c.version + 1
      from jsonb_to_recordset(${JSON.stringify(counts)}::jsonb) as r("cycleKey" text, accepted bigint, duplicates bigint,
             bytes bigint, "voiceSeconds" bigint, "smsCount" bigint)
     where c.tenant_id = ${tx.tenantId} and c.key = r."cycleKey"`.execute(tx.q)
}

const CHECK_VIOLATION = '23514'
const TOTALS: Readonly<Record<string, string>> = {
  usage_ledger_total: 'SIM',
  pool_cycles_total: 'pool',
  cycles_total: 'tenant',
  usage_buckets_total: 'time bucket',
}

/**
 * Names the total that a failed statement would have taken out of the range of exact sums: SIM, pool, tenant or time
 * bucket. Undefined if the statement failed for another reason.
 */
export function totalOutOfRange(error: unknown): string | undefined {
  if (!(error instanceof Error && 'code' in error && error.code === CHECK_VIOLATION && 'constraint' in error)) {
    return undefined
  }
  return typeof error.constraint === 'string' ? TOTALS[error.constraint] : undefined
}
