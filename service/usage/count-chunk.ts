/**
 * Counts a chunk of usage records in one transaction. Each record counts once, also if it is sent again.
 *
 * One chunk of a tenant is counted at a time. Locks are taken in the same order everywhere to prevent deadlocks: the
 * merge lock, then cycles, then pools by id, then the rest in key order.
 */

import { LogLevel } from '../../domain/codes.ts'
import { counted, megabytes } from '../../domain/quantity.ts'
import { bucketMs, type Cycle, cycleAt, cycleOfKey } from '../../domain/time/cycle.ts'
import { toMB } from '../../domain/units.ts'
import { feedAt } from '../../domain/usage/feed.ts'
import type { ReadRecord, UsageFault } from '../../domain/usage/usage-record.ts'
import { insertLogEntries } from '../../store/log.ts'
import { lookAtAll } from '../../store/shards.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { type TenantSettings, tenantSettings } from './rows/cycles.ts'
import { noteReceived } from './rows/feed.ts'
import {
  addToBuckets,
  addToLedger,
  countRecords,
  ledgerSums,
  lockMerge,
  noteSightings,
  noteUsed,
  storeRecords,
} from './rows/merge.ts'
import { lockCycles } from './rows/open-cycle.ts'
import { lockPools } from './rows/pool-totals.ts'
import { isStated, statedCycles } from './rows/restatements.ts'
import {
  hasMoved,
  type KnownRecord,
  type PlacedRecord,
  placeRecords,
  type StagedRecord,
  stagedPools,
  stagedRecords,
  stageRecords,
  takeRepeated,
  unstage,
} from './rows/stage.ts'

/** A record, and its place in its delivery. */
export interface AtIndex {
  readonly index: number
  readonly record: ReadRecord
}
/** Faults of rejected records, by place in the delivery. */
export type Rejections = Map<number, UsageFault>

export interface ChunkResult {
  readonly accepted: number
  readonly duplicates: number
  readonly rejected: Rejections
  /** Cycles that must be opened first. If there are any, nothing was written. */
  readonly unopened: readonly Cycle[]
}

/** Another transaction has changed rows that this one relies on. Nothing was written; the chunk is counted again. */
export class OutdatedError extends Error {}

/** Counts records in this transaction, at most a few thousand. @throws OutdatedError */
export async function countChunk(
  tx: TenantTx,
  read: readonly AtIndex[],
  deliveryId: number | null,
): Promise<ChunkResult> {
  const rejected: Rejections = new Map()
  await lockMerge(tx)
  const settings = await tenantSettings(tx)
  const { billingCycle } = settings
  const staged = inCycles(read, billingCycle)
  await stageRecords(tx, staged)
  const { strangers, known } = await placeRecords(tx)
  const unknown = new Set(strangers)
  for (const { index, record } of staged) if (unknown.has(index)) rejected.set(index, unknownSim(record))
  const keys = [...new Set(staged.flatMap(({ index, cycleKey }) => (unknown.has(index) ? [] : cycleKey)))]
  const unopened = await lockCycles(tx, cyclesOf(billingCycle, keys))
  if (unopened.length > 0) return { accepted: 0, duplicates: 0, rejected, unopened }
  const repeated = isRepeated(read) ? await takeRepeated(tx) : []
  const duplicates = sortKnown(staged, [...known, ...repeated], rejected)
  for (const { cycleKey, poolIds } of await stagedPools(tx)) await lockPools(tx, cycleKey, poolIds)
  // From here on no ticket can move a SIM out of these pools.
  if (await hasMoved(tx)) throw new OutdatedError('a SIM has moved')
  if (read.some(({ record }) => record.correction)) await refuseNegativeTotals(tx, keys, rejected)
  const accepted = read.length - rejected.size - duplicates.total
  if (accepted > 0) {
    await storeRecords(tx, deliveryId)
    await addToLedger(tx)
    await addToBuckets(tx)
    await noteSightings(
      tx,
      read.some(({ record: { imei, country, mccMnc, rat } }) => (imei ?? country ?? mccMnc ?? rat) !== null),
    )
    await noteUsed(tx, keys)
  }
  await countRecords(tx, duplicates.byCycle)
  await noteLateUsage(tx, keys)
  if (accepted > 0) await noteFeed(tx, settings)
  return { accepted, duplicates: duplicates.total, rejected, unopened: [] }
}

/** The records with their cycles and time buckets. Records of one time mostly belong to one cycle. */
function inCycles(read: readonly AtIndex[], billingCycle: string): StagedRecord[] {
  const widthMs = bucketMs(billingCycle)
  let cycle: Cycle | undefined
  return read.map(({ index, record }) => {
    const { at } = record
    if (cycle === undefined || at < cycle.startsAt || at >= cycle.endsAt) cycle = cycleAt(billingCycle, at)
    return { index, record, cycleKey: cycle.key, bucketAt: Math.floor(at / widthMs) * widthMs }
  })
}

/** The cycles with these keys, the earliest first. */
const cyclesOf = (billingCycle: string, keys: readonly string[]): Cycle[] =>
  keys.flatMap((key) => cycleOfKey(billingCycle, key) ?? []).sort((a, b) => a.startsAt - b.startsAt)

const unknownSim = ({ iccid, simId }: ReadRecord): UsageFault => ({
  code: 'sim_not_found',
  detail: `there is no SIM with ${iccid === null ? `simId ${simId}` : `iccid ${iccid}`}`,
})

/** Whether an identity appears more than once. */
const isRepeated = (read: readonly AtIndex[]): boolean =>
  new Set(read.map(({ record }) => `${record.at}/${record.recordId}`)).size < read.length

/** Counts the duplicates among known records. Records that contradict known ones are rejected. */
function sortKnown(
  staged: readonly StagedRecord[],
  known: readonly KnownRecord[],
  rejected: Rejections,
): { readonly total: number; readonly byCycle: Map<string, number> } {
  const byCycle = new Map<string, number>()
  if (known.length === 0) return { total: 0, byCycle }
  let total = 0
  const isSame = new Map(known.map((one) => [one.index, one.isSame]))
  for (const { index, record, cycleKey } of staged) {
    const same = isSame.get(index)
    if (same === true) {
      total += 1
      byCycle.set(cycleKey, (byCycle.get(cycleKey) ?? 0) + 1)
    } else if (same === false) {
      const detail = `recordId '${record.recordId}' at ${new Date(record.at).toISOString()} is known with other content`
      rejected.set(index, { code: 'record_conflict', detail })
    }
  }
  return { total, byCycle }
}

const AMOUNTS = ['bytes', 'voiceSeconds', 'smsCount', 'sessions'] as const
type Amounts = Readonly<Record<(typeof AMOUNTS)[number], number>>

const rowOf = (place: Pick<PlacedRecord, 'cycleKey' | 'simId' | 'poolId'>) =>
  `${place.cycleKey}/${place.simId}/${place.poolId}`

const plus = (sums: Amounts | undefined, record: PlacedRecord): Amounts => ({
  bytes: (sums?.bytes ?? 0) + record.bytesUp + record.bytesDown,
  voiceSeconds: (sums?.voiceSeconds ?? 0) + record.voiceSeconds,
  smsCount: (sums?.smsCount ?? 0) + record.smsCount,
  sessions: (sums?.sessions ?? 0) + record.sessions,
})

/**
 * Takes corrections off the stage that would take a ledger row below 0. They are checked in their order, after the
 * chunk's other records. Their rejection names the amount that would be negative. Call with the pools locked.
 */
async function refuseNegativeTotals(tx: TenantTx, cycleKeys: readonly string[], rejected: Rejections): Promise<void> {
  const records = await stagedRecords(tx, cycleKeys)
  const corrections = records.filter(({ correction }) => correction)
  const sums = new Map<string, Amounts>((await ledgerSums(tx, corrections)).map((row) => [rowOf(row), row]))
  for (const record of records) {
    if (!record.correction) sums.set(rowOf(record), plus(sums.get(rowOf(record)), record))
  }
  const refused: number[] = []
  for (const record of corrections) {
    const after = plus(sums.get(rowOf(record)), record)
    const below = AMOUNTS.find((amount) => after[amount] < 0)
    if (below === undefined) sums.set(rowOf(record), after)
    else {
      const detail = `the correction would leave ${below} of cycle ${record.cycleKey} at ${after[below]}`
      rejected.set(record.index, { code: 'negative_total', detail })
      refused.push(record.index)
    }
  }
  await unstage(tx, refused)
}

/**
 * Logs usage received after its line is stated: one Info entry per SIM, cycle and chunk. It changes the ledger, and
 * leads to no enforcement. Call with the pools locked.
 */
async function noteLateUsage(tx: TenantTx, cycleKeys: readonly string[]): Promise<void> {
  const stated = new Map((await statedCycles(tx, cycleKeys)).map((cycle) => [cycle.key, cycle]))
  if (stated.size === 0) return
  const records = (await stagedRecords(tx, [...stated.keys()])).filter((record) => {
    const cycle = stated.get(record.cycleKey)
    return cycle !== undefined && isStated(cycle, record)
  })
  const late = Map.groupBy(records, ({ simId, cycleKey }) => `${simId}/${cycleKey}`)
  const entries = [...late].flatMap(([key, records]) => {
    const [first] = records
    if (first === undefined) return []
    const bytes = records.reduce((sum, record) => sum + record.bytesUp + record.bytesDown, 0)
    return [
      {
        dedupeKey: `late-usage/${key}/${first.at}/${first.recordId}`,
        rule: null,
        ruleVersion: null,
        simId: first.simId,
        poolId: first.poolId === 0 ? null : first.poolId,
        level: LogLevel.Info,
        message: `${counted(records.length, 'record')} with ${megabytes(toMB(bytes))} came too late for the statement of cycle ${first.cycleKey}, and will be an adjustment.`,
        cycleKey: first.cycleKey,
        explanation: null,
      },
    ]
  })
  await insertLogEntries(tx, entries)
}

/**
 * Notes that usage was received. If the feed was stale, alerts about usage have stood still: marks every subject due to
 * continue them.
 */
async function noteFeed(tx: TenantTx, { billingCycle, feedEvery }: TenantSettings): Promise<void> {
  const before = await noteReceived(tx)
  const at = tx.now.getTime()
  const { staleSince } = feedAt({ ...before, feedEvery }, cycleAt(billingCycle, at), at)
  if (staleSince !== null) await lookAtAll(tx)
}
