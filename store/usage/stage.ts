/**
 * Where a chunk of usage records is held while it is counted: two temporary tables of the session, empty again after
 * each transaction.
 */

import { type RawBuilder, sql } from 'kysely'
import type { ReadRecord } from '../../domain/usage/usage-record.ts'
import { copyInto, copyLine } from '../copy.ts'
import type { TenantTx } from '../tenancy.ts'
import type { PlacedRecord } from './records.ts'

/** A record with its place in the delivery, its cycle and the start of its time bucket. */
export interface StagedRecord {
  readonly index: number
  readonly record: ReadRecord
  readonly cycleKey: string
  /** Epoch milliseconds. */
  readonly bucketAt: number
}

const COLUMNS =
  'n record_id at cycle_key bucket_at iccid sim_id bytes_up bytes_down voice_seconds sms_count imei correction'.split(
    ' ',
  )

const lineOf = ({ index, record, cycleKey, bucketAt }: StagedRecord) =>
  copyLine([
    index,
    record.recordId,
    new Date(record.at).toISOString(),
    cycleKey,
    new Date(bucketAt).toISOString(),
    record.iccid,
    record.simId,
    record.bytesUp,
    record.bytesDown,
    record.voiceSeconds,
    record.smsCount,
    record.imei,
    record.correction,
  ])

/** Copies a chunk into `usage_stage`. */
export async function stageRecords(tx: TenantTx, records: readonly StagedRecord[]): Promise<void> {
  await sql`
    create temporary table if not exists usage_stage (
      n integer, record_id text, at timestamptz, cycle_key text, bucket_at timestamptz, iccid text, sim_id bigint,
      bytes_up bigint, bytes_down bigint, voice_seconds bigint, sms_count bigint, imei text, correction boolean,
      pool_id integer
    ) on commit delete rows`.execute(tx.q)
  // Sums of what was accepted, for all that adds them up.
  await sql`
    create temporary table if not exists usage_sums (
      cycle_key text, sim_id bigint, pool_id integer, bucket_at timestamptz, bytes bigint, voice_seconds bigint,
      sms_count bigint, records integer, last_at timestamptz
    ) on commit delete rows`.execute(tx.q)
  await copyInto(tx, 'usage_stage', COLUMNS, records.map(lineOf))
}

/** The pool that a staged record's SIM was in at its instant; 0: none. */
const placeOf = (simId: RawBuilder<unknown>) => sql`
  coalesce((select m.pool_id from memberships m
             where m.sim_id = ${simId} and m.from_at <= u.at and (m.to_at is null or m.to_at > u.at)
             order by m.from_at desc limit 1), 0)`

/**
 * Finds SIM and pool of every staged record. Records of unknown SIMs leave the stage.
 *
 * @returns indices of the records that left
 */
export async function placeRecords(tx: TenantTx): Promise<number[]> {
  await sql`
    update usage_stage r set sim_id = s.id, pool_id = ${placeOf(sql`s.id`)}
      from usage_stage u
     cross join lateral (
       select id from sims where tenant_id = ${tx.tenantId} and (u.iccid is not null and iccid = u.iccid)
        union all
       select id from sims where tenant_id = ${tx.tenantId} and u.iccid is null and id = u.sim_id) s
     where r.ctid = u.ctid`.execute(tx.q)
  const { rows } = await sql<{ n: number }>`
    delete from usage_stage where pool_id is null returning n`.execute(tx.q)
  return rows.map(({ n }) => n)
}

/** Keys of the cycles of the staged records. */
export async function stagedCycles(tx: TenantTx): Promise<string[]> {
  const { rows } = await sql<{ key: string }>`select distinct cycle_key as key from usage_stage`.execute(tx.q)
  return rows.map(({ key }) => key)
}

/** Whether a staged record's SIM is known to have been in another pool by now: a ticket has moved it meanwhile. */
export async function hasMoved(tx: TenantTx): Promise<boolean> {
  const { rows } = await sql`
    select from usage_stage u where u.pool_id <> ${placeOf(sql`u.sim_id`)} limit 1`.execute(tx.q)
  return rows.length > 0
}

/** A staged record whose identity is known already. */
export interface KnownRecord {
  readonly index: number
  readonly cycleKey: string
  /** Whether it has the same content; else it contradicts the known one. */
  readonly isSame: boolean
}

const CONTENT = ['sim_id', 'bytes_up', 'bytes_down', 'voice_seconds', 'sms_count', 'imei', 'correction']
const sameContent = sql.join(
  CONTENT.map((column) => sql`u.${sql.ref(column)} is not distinct from k.${sql.ref(column)}`),
  sql` and `,
)

/** Takes records whose identity is stored, or appears earlier in the chunk, off the stage. */
export async function takeKnown(tx: TenantTx, hasRepeated: boolean): Promise<KnownRecord[]> {
  const stored = await sql<KnownRecord>`
    delete from usage_stage r
     using usage_stage u
     cross join lateral (
       select * from usage_records k
        where k.tenant_id = ${tx.tenantId} and k.record_id = u.record_id and k.at = u.at limit 1) k
     where r.ctid = u.ctid
    returning r.n as index, r.cycle_key as "cycleKey", ${sameContent} as "isSame"`.execute(tx.q)
  if (!hasRepeated) return stored.rows
  // The first record with an identity counts, as if each were sent by itself.
  const repeated = await sql<KnownRecord>`
    delete from usage_stage u
     using (select distinct on (record_id, at) * from usage_stage order by record_id, at, n) k
     where u.record_id = k.record_id and u.at = k.at and u.n > k.n
    returning u.n as index, u.cycle_key as "cycleKey", ${sameContent} as "isSame"`.execute(tx.q)
  return [...stored.rows, ...repeated.rows]
}

/** Cycles and pools of the staged records, both in their order. */
export async function stagedPools(
  tx: TenantTx,
): Promise<{ readonly cycleKey: string; readonly poolIds: readonly number[] }[]> {
  const { rows } = await sql<{ cycleKey: string; poolIds: number[] }>`
    select cycle_key as "cycleKey", array_agg(distinct pool_id order by pool_id) as "poolIds"
      from usage_stage group by cycle_key order by cycle_key`.execute(tx.q)
  return rows
}

/** The staged records of some cycles, in their order. */
export async function stagedRecords(
  tx: TenantTx,
  cycleKeys: readonly string[],
): Promise<(PlacedRecord & { readonly index: number })[]> {
  const { rows } = await sql<Omit<PlacedRecord, 'at'> & { at: Date; index: number }>`
    select n as index, record_id as "recordId", at, cycle_key as "cycleKey", iccid, sim_id as "simId",
           pool_id as "poolId", bytes_up as "bytesUp", bytes_down as "bytesDown", voice_seconds as "voiceSeconds",
           sms_count as "smsCount", imei, correction
      from usage_stage where cycle_key = any(${[...cycleKeys]}::text[]) order by n`.execute(tx.q)
  return rows.map((row) => ({ ...row, at: row.at.getTime() }))
}

/** Takes records off the stage. */
export async function unstage(tx: TenantTx, indices: readonly number[]): Promise<void> {
  if (indices.length === 0) return
  await sql`delete from usage_stage where n = any(${[...indices]}::integer[])`.execute(tx.q)
}
