/**
 * Counts usage records. Each counts once, also if it is sent again.
 *
 * A chunk is one transaction, and one chunk of a tenant is counted at a time. Locks are taken in the same order
 * everywhere to prevent deadlocks: the merge lock, then cycles, then pools by id, then the rest in key order. A cycle
 * not open yet is opened before, in separate short transactions (`openCycle`).
 */

import { ServiceError } from '../../domain/errors.ts'
import { bucketMs, type Cycle, cycleAt, cycleOfKey } from '../../domain/time/cycle.ts'
import { MOST_TOTAL, type ReadRecord, readRecord, type UsageFault } from '../../domain/usage/usage-record.ts'
import { inTenant, type Store, type TenantTx } from '../../store/tenancy.ts'
import { noteFeed } from './note-feed.ts'
import { noteLateUsage } from './note-late-usage.ts'
import { refuseNegativeTotals } from './refuse-negative-totals.ts'
import { lockCycles } from './rows/cycle-locks.ts'
import { tenantSettings } from './rows/cycles.ts'
import {
  addToBuckets,
  addToLedger,
  countRecords,
  lockMerge,
  noteSightings,
  noteUsed,
  storeRecords,
} from './rows/merge.ts'
import { openCycle } from './rows/open-cycle.ts'
import { partitionsFor } from './rows/partitions.ts'
import { lockPools } from './rows/pool-totals.ts'
import { isStored, totalOutOfRange } from './rows/records.ts'
import {
  hasMoved,
  type KnownRecord,
  placeRecords,
  type StagedRecord,
  stagedPools,
  stagedRecords,
  stageRecords,
  takeRepeated,
  unstage,
} from './rows/stage.ts'

export interface UsageResponse {
  readonly accepted: number
  readonly duplicates: number
  readonly rejected: readonly ({ readonly index: number } & UsageFault)[]
}

interface AtIndex<T> {
  readonly index: number
  readonly record: T
}
type Rejections = Map<number, UsageFault>

const MOST_ATTEMPTS = 10

/** How usage is recorded. */
export interface UsageOptions {
  /** How old a record may be, milliseconds. Default: 90 days. */
  readonly maxAgeMs?: number
  /** Id of the delivery that the records belong to. Default: none. */
  readonly deliveryId?: number
}

/**
 * Counts a chunk of records, at most a few thousand. A bad record is rejected; the rest is counted.
 *
 * @param values records as received, unchecked
 * @param firstIndex index of the first record in the whole delivery, for the response
 * @returns numbers of accepted and of duplicate records, and the rejected ones in order of their index
 */
export async function recordUsage(
  store: Store,
  tenantId: string,
  values: readonly unknown[],
  firstIndex = 0,
  { maxAgeMs, deliveryId }: UsageOptions = {},
): Promise<UsageResponse> {
  const results = values.map((value) => readUsage(store, value, maxAgeMs))
  return countUsage(store, tenantId, results, firstIndex, { deliveryId })
}

export type ReadResult = ReturnType<typeof readRecord>

/** Reads a received record: returns the record, or its fault. */
export const readUsage = (store: Store, value: unknown, maxAgeMs?: number): ReadResult =>
  readRecord(value, store.clock(), maxAgeMs)

/** As {@link recordUsage}, for parsed records. */
export async function countUsage(
  store: Store,
  tenantId: string,
  results: readonly ReadResult[],
  firstIndex: number,
  { deliveryId }: { readonly deliveryId?: number | undefined },
): Promise<UsageResponse> {
  const rejected: Rejections = new Map()
  const read: AtIndex<ReadRecord>[] = []
  results.forEach((result, i) => {
    if ('fault' in result) rejected.set(firstIndex + i, result.fault)
    else read.push({ index: firstIndex + i, record: result.record })
  })
  const { accepted, duplicates } = await countAll({ store, tenantId, deliveryId: deliveryId ?? null }, read, rejected)
  const inOrder = [...rejected].sort(([a], [b]) => a - b)
  return { accepted, duplicates, rejected: inOrder.map(([index, fault]) => ({ index, ...fault })) }
}

interface DeliveryOf {
  readonly store: Store
  readonly tenantId: string
  readonly deliveryId: number | null
}

/**
 * Counts parsed records. Totals above `MOST_TOTAL` would not add up exactly. If the records lead to such a total,
 * counts each half on its own, down to the record that causes it. That record is rejected.
 */
async function countAll(
  whose: DeliveryOf,
  read: readonly AtIndex<ReadRecord>[],
  rejected: Rejections,
): Promise<Pick<ChunkResult, 'accepted' | 'duplicates'>> {
  const refused: Rejections = new Map()
  try {
    const counted = await countOpened(whose, read, refused)
    for (const [index, fault] of refused) rejected.set(index, fault)
    return counted
  } catch (error) {
    const total = totalOutOfRange(error)
    const [first, second] = read
    if (total === undefined || first === undefined) throw error
    if (second === undefined) {
      const detail = `the record would take a total of its ${total} beyond ${MOST_TOTAL}`
      rejected.set(first.index, { code: 'total_out_of_range', detail })
      return { accepted: 0, duplicates: 0 }
    }
  }
  const middle = Math.ceil(read.length / 2)
  const one = await countAll(whose, read.slice(0, middle), rejected)
  const other = await countAll(whose, read.slice(middle), rejected)
  return { accepted: one.accepted + other.accepted, duplicates: one.duplicates + other.duplicates }
}

/** Counts records in one transaction. Before that, opens the cycles that they belong to. */
async function countOpened(
  { store, tenantId, deliveryId }: DeliveryOf,
  read: readonly AtIndex<ReadRecord>[],
  rejected: Rejections,
): Promise<ChunkResult> {
  let counted: ChunkResult = { accepted: 0, duplicates: 0, unopened: [] }
  await partitionsFor(
    store,
    read.map(({ record }) => record.at),
  )
  while (read.length > 0) {
    counted = await inTurn(tenantId, () =>
      counting(() => inTenant(store, tenantId, (tx) => countChunk(tx, read, rejected, deliveryId)), rejected),
    )
    const { unopened } = counted
    if (unopened.length === 0) break
    for (const cycle of unopened) await inTenant(store, tenantId, (tx) => openCycle(tx, cycle))
  }
  return counted
}

/** Most chunks of a tenant waiting in a process. Each is in memory. */
const MOST_WAITING = 50

/** Of each tenant, the chunk that this process counts last, and how many are not counted yet. */
const turns = new Map<string, { readonly last: Promise<unknown>; readonly count: number }>()

/**
 * Counts one chunk of a tenant at a time. Others would only wait for its merge lock, each with a connection of the
 * pool, until none is left for other tenants.
 *
 * @throws ServiceError `quota_exceeded` if too many wait already
 */
async function inTurn<T>(tenantId: string, count: () => Promise<T>): Promise<T> {
  const before = turns.get(tenantId)
  if ((before?.count ?? 0) > MOST_WAITING) {
    const detail = `Too much usage of the tenant arrives at once: ${MOST_WAITING} chunks of records wait to be counted.`
    throw new ServiceError('quota_exceeded', `${detail} Send what was not counted again.`, { retryAfter: 1 })
  }
  const mine = (before?.last ?? Promise.resolve()).then(count, count)
  turns.set(tenantId, { last: mine, count: (before?.count ?? 0) + 1 })
  try {
    return await mine
  } finally {
    const { last, count: all } = turns.get(tenantId) ?? { last: mine, count: 1 }
    if (all === 1) turns.delete(tenantId)
    else turns.set(tenantId, { last, count: all - 1 })
  }
}

/** Counts again while other transactions change rows that a chunk relies on. */
async function counting(count: () => Promise<ChunkResult>, rejected: Rejections): Promise<ChunkResult> {
  for (let attempt = 1; ; attempt++) {
    rejected.clear()
    try {
      return await count()
    } catch (error) {
      if (!(error instanceof OutdatedError || isStored(error)) || attempt === MOST_ATTEMPTS) throw error
    }
  }
}

interface ChunkResult {
  readonly accepted: number
  readonly duplicates: number
  /** Cycles that must be opened first. If there are any, nothing was written. */
  readonly unopened: readonly Cycle[]
}

/** Another transaction has changed rows that this one relies on. Nothing was written; the chunk is counted again. */
class OutdatedError extends Error {}

async function countChunk(
  tx: TenantTx,
  read: readonly AtIndex<ReadRecord>[],
  rejected: Rejections,
  deliveryId: number | null,
): Promise<ChunkResult> {
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
  if (unopened.length > 0) return { accepted: 0, duplicates: 0, unopened }
  const repeated = isRepeated(read) ? await takeRepeated(tx) : []
  const duplicates = sortKnown(staged, [...known, ...repeated], rejected)
  for (const { cycleKey, poolIds } of await stagedPools(tx)) await lockPools(tx, cycleKey, poolIds)
  // From here on no ticket can move a SIM out of these pools.
  if (await hasMoved(tx)) throw new OutdatedError('a SIM has moved')
  if (read.some(({ record }) => record.correction)) await refuseCorrections(tx, keys, rejected)
  const accepted = read.length - rejected.size - duplicates.total
  if (accepted > 0) {
    await storeRecords(tx, deliveryId)
    await addToLedger(tx)
    await addToBuckets(tx)
    await noteSightings(
      tx,
      read.some(({ record }) => record.imei !== null),
    )
    await noteUsed(tx, keys)
  }
  await countRecords(tx, duplicates.byCycle)
  await noteLateUsage(tx, keys)
  if (accepted > 0) await noteFeed(tx, settings)
  return { accepted, duplicates: duplicates.total, unopened: [] }
}

/** The records with their cycles and time buckets. Records of one time mostly belong to one cycle. */
function inCycles(read: readonly AtIndex<ReadRecord>[], billingCycle: string): StagedRecord[] {
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

function unknownSim({ iccid, simId }: ReadRecord): UsageFault {
  return {
    code: 'sim_not_found',
    detail: `there is no SIM with ${iccid === null ? `simId ${simId}` : `iccid ${iccid}`}`,
  }
}

/** Whether an identity appears more than once. */
const isRepeated = (read: readonly AtIndex<ReadRecord>[]): boolean =>
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

/** Rejects corrections that would take a ledger row below 0. Call with the pools locked. */
async function refuseCorrections(tx: TenantTx, cycleKeys: readonly string[], rejected: Rejections): Promise<void> {
  const placed = (await stagedRecords(tx, cycleKeys)).map(({ index, ...record }) => ({ index, record }))
  const kept = new Set((await refuseNegativeTotals(tx, placed, rejected)).map(({ index }) => index))
  await unstage(
    tx,
    placed.flatMap(({ index }) => (kept.has(index) ? [] : index)),
  )
}
