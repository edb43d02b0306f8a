/**
 * Holds a chunk of usage records during its count: in temporary tables of the session, empty again after each
 * transaction.
 */

import { type RawBuilder, sql } from 'kysely'
import type { ReadRecord } from '../../../domain/usage/usage-record.ts'
import { copyInto, copyLine } from '../../../store/copy.ts'
import { type Db, mine, type TenantTx } from '../../../store/tenancy.ts'

/** A record with its place in the delivery, its cycle and the start of its time bucket. */
export interface StagedRecord {
  readonly index: number
  readonly record: ReadRecord
  readonly cycleKey: string
  /** Epoch milliseconds. */
  readonly bucketAt: number
}

/** Content of a record, by column. */
const CONTENT = {
  bytes_up: 'bigint',
  bytes_down: 'bigint',
  voice_seconds: 'bigint',
  sms_count: 'bigint',
  sessions: 'bigint',
  imei: 'text',
  country: 'text',
  mcc_mnc: 'text',
  rat: 'text',
  correction: 'boolean',
} as const

const COLUMNS = ['n', 'record_id', 'at', 'cycle_key', 'bucket_at', 'iccid', 'sim_id', ...Object.keys(CONTENT)]

const lineOf = ({ index, record, cycleKey }: StagedRecord, bucketAt: string) =>
  copyLine([
    index,
    record.recordId,
    new Date(record.at).toISOString(),
    cycleKey,
    bucketAt,
    record.iccid,
    record.simId,
    record.bytesUp,
    record.bytesDown,
    record.voiceSeconds,
    record.smsCount,
    record.sessions,
    record.imei,
    record.country,
    record.mccMnc,
    record.rat,
    record.correction,
  ])

const RECORD = `n integer, record_id text, at timestamptz, cycle_key text, bucket_at timestamptz, sim_id bigint,
    ${Object.entries(CONTENT)
      .map(([name, type]) => `${name} ${type}`)
      .join(', ')}`

const TABLES = {
  // Records as they were sent, with an ICCID or the id of a SIM.
  usage_sent: `${RECORD}, iccid text`,
  // The same, each with its SIM, and the pool that the SIM was in at its instant.
  usage_stage: `${RECORD}, pool_id integer, is_same boolean`,
  // Sums of accepted records, one row for each row of the ledger.
  usage_sums: `
    cycle_key text, sim_id bigint, pool_id integer, bytes bigint, voice_seconds bigint, sms_count bigint,
    sessions bigint, records integer, last_at timestamptz`,
  // The changed ledger rows: their bytes before and after, and the increase of their other columns.
  usage_changes: `
    cycle_key text, sim_id bigint, pool_id integer, tariff_id integer, contributing boolean, bytes_before bigint,
    bytes bigint, voice_seconds bigint, sms_count bigint`,
} as const

/** Names of the temporary tables that counting works in. */
export const STAGE_TABLES = Object.keys(TABLES)

/** Makes the tables, if the session has none yet. @param atCommit fate of their rows at the commit */
export async function makeStage(q: Db, atCommit: 'delete rows' | 'preserve rows'): Promise<void> {
  const created = Object.entries(TABLES).map(
    ([name, columns]) => `create temporary table ${name} (${columns}) on commit ${atCommit};`,
  )
  await sql`do $$ begin
    if to_regclass('pg_temp.usage_sent') is null then ${sql.raw(created.join(' '))} end if;
  end $$`.execute(q)
}

/** Copies a chunk into `usage_sent`. */
export async function stageRecords(tx: TenantTx, records: readonly StagedRecord[]): Promise<void> {
  if (tx.isReplay) for (const name of STAGE_TABLES) await sql`delete from ${sql.id(name)}`.execute(tx.q)
  else await makeStage(tx.q, 'delete rows')
  const startOf = bucketStarts()
  const lines = records.map((record) => lineOf(record, startOf(record.bucketAt)))
  await copyInto(tx, 'usage_sent', COLUMNS, lines)
}

/** Makes the function that writes the start of a time bucket. There are few, and Date takes its time. */
function bucketStarts(): (bucketAt: number) => string {
  const known = new Map<number, string>()
  return (bucketAt) => {
    const start = known.get(bucketAt) ?? new Date(bucketAt).toISOString()
    known.set(bucketAt, start)
    return start
  }
}

/** The pool that a staged record's SIM was in at its instant; 0: none. */
const placeOf = (simId: RawBuilder<unknown>) => sql`
  coalesce((select m.pool_id from memberships m
             where m.sim_id = ${simId} and m.from_at <= u.at and (m.to_at is null or m.to_at > u.at)
             order by m.from_at desc limit 1), 0)`

/** A staged record with a known identity. */
export interface KnownRecord {
  readonly index: number
  /** Whether it has the same content; else it contradicts the known one. */
  readonly isSame: boolean
}

/** Condition: the record `k` has the content of `u`, and this SIM. */
const isSame = (simId: RawBuilder<unknown>) =>
  sql.join(
    [
      sql`k.sim_id = ${simId}`,
      ...Object.keys(CONTENT).map((name) => sql`k.${sql.ref(name)} is not distinct from u.${sql.ref(name)}`),
    ],
    sql` and `,
  )

/**
 * Stages the sent records, each with its SIM and pool. Records of unknown SIMs are left out, and so are records with a
 * stored identity. Each record is looked up (`limit 1`): PostgreSQL has no statistics of the sent ones.
 *
 * @returns indices of the records of unknown SIMs, and the known records
 */
export async function placeRecords(tx: TenantTx) {
  const content = sql.join(Object.keys(CONTENT).map((name) => sql.ref(name)))
  await sql`
    insert into usage_stage (n, record_id, at, cycle_key, bucket_at, sim_id, ${content}, pool_id, is_same)
    select n, record_id, at, cycle_key, bucket_at, s.id, ${content}, ${placeOf(sql`s.id`)},
           (select ${isSame(sql`s.id`)} from usage_records k
             where k.tenant_id = ${mine} and k.record_id = u.record_id and k.at = u.at and s.id is not null)
      from usage_sent u
      left join lateral (
        select id from sims where tenant_id = ${mine} and u.iccid is not null and iccid = u.iccid
         union all
        select id from sims where tenant_id = ${mine} and u.iccid is null and id = u.sim_id
         limit 1) s on true`.execute(tx.q)
  const { rows } = await sql<{ isSame: boolean | null; indices: number[] }>`
    with gone as (
      delete from usage_stage where sim_id is null or is_same is not null returning n, is_same
    )
    select is_same as "isSame", array_agg(n order by n) as indices from gone group by is_same`.execute(tx.q)
  const strangers = rows.flatMap(({ isSame, indices }) => (isSame === null ? indices : []))
  const known = rows.flatMap(({ isSame, indices }): KnownRecord[] =>
    isSame === null ? [] : indices.map((index) => ({ index, isSame })),
  )
  return { strangers, known }
}

/**
 * Takes repeated records off the stage. Of records with the same identity the first counts, as if they were sent
 * separately.
 */
export async function takeRepeated(tx: TenantTx): Promise<KnownRecord[]> {
  const { rows } = await sql<KnownRecord>`
    delete from usage_stage u
     using (select distinct on (record_id, at) * from usage_stage order by record_id, at, n) k
     where u.record_id = k.record_id and u.at = k.at and u.n > k.n
    returning u.n as index, ${isSame(sql`u.sim_id`)} as "isSame"`.execute(tx.q)
  return rows
}

/** Whether a ticket has moved the SIM of a staged record to another pool since {@link placeRecords}. */
export async function hasMoved(tx: TenantTx): Promise<boolean> {
  const { rows } = await sql`
    select from usage_stage u where u.pool_id <> ${placeOf(sql`u.sim_id`)} limit 1`.execute(tx.q)
  return rows.length > 0
}

/** Cycles and pools of the staged records, both in their order. */
export async function stagedPools(tx: TenantTx) {
  const { rows } = await sql<{ readonly cycleKey: string; readonly poolIds: readonly number[] }>`
    select cycle_key as "cycleKey", array_agg(distinct pool_id order by pool_id) as "poolIds"
      from usage_stage group by cycle_key order by cycle_key`.execute(tx.q)
  return rows
}

/** A record with its SIM, pool and billing cycle, without what it says of where the SIM is. */
export interface PlacedRecord extends Omit<ReadRecord, 'iccid' | 'imei' | 'country' | 'mccMnc' | 'rat'> {
  readonly simId: number
  /** Pool that the SIM was in at the record's instant; 0: none. */
  readonly poolId: number
  readonly cycleKey: string
}

/** The staged records of some cycles, in their order. */
export async function stagedRecords(
  tx: TenantTx,
  cycleKeys: readonly string[],
): Promise<(PlacedRecord & { readonly index: number })[]> {
  const { rows } = await sql<Omit<PlacedRecord, 'at'> & { at: Date; index: number }>`
    select n as index, record_id as "recordId", at, cycle_key as "cycleKey", sim_id as "simId", pool_id as "poolId",
           bytes_up as "bytesUp", bytes_down as "bytesDown", voice_seconds as "voiceSeconds", sms_count as "smsCount",
           sessions, correction
      from usage_stage where cycle_key = any(${[...cycleKeys]}::text[]) order by n`.execute(tx.q)
  return rows.map((row) => ({ ...row, at: row.at.getTime() }))
}

/** Takes records off the stage. */
export async function unstage(tx: TenantTx, indices: readonly number[]): Promise<void> {
  if (indices.length === 0) return
  await sql`delete from usage_stage where n = any(${[...indices]}::integer[])`.execute(tx.q)
}
