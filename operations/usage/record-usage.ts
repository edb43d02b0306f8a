/**
 * Counts usage records. Each counts once, however often it is sent.
 *
 * A chunk is one transaction, and one chunk of a tenant is counted at a time. Locks are taken in the same order
 * everywhere, so that nothing deadlocks: the merge lock, then cycles, then pools by id, then the rest in key order. A
 * cycle that is not open yet is opened in a transaction of its own, because that marks the whole estate due.
 */

import { bucketMs, type Cycle, cycleAt, cycleOfKey } from '../../domain/time/cycle.ts'
import {
  MOST_TOTAL,
  type ReadRecord,
  readRecord,
  USAGE_MAX_AGE_MS,
  type UsageFault,
} from '../../domain/usage/usage-record.ts'
import { inTenant, type Store, type TenantTx } from '../../store/tenancy.ts'
import { lockCycles, tenantSettings } from '../../store/usage/cycles.ts'
import {
  addToBuckets,
  addToLedger,
  countRecords,
  lockMerge,
  markUsageDue,
  noteSightings,
  storeRecords,
} from '../../store/usage/merge.ts'
import { openCycle } from '../../store/usage/open-cycle.ts'
import { partitionsFor } from '../../store/usage/partitions.ts'
import { lockPools, poolVersions } from '../../store/usage/pool-totals.ts'
import { totalOutOfRange } from '../../store/usage/records.ts'
import {
  hasMoved,
  placeRecords,
  stagedCycles,
  stagedPools,
  stagedRecords,
  stageRecords,
  takeKnown,
  unstage,
} from '../../store/usage/stage.ts'
import { refuseNegativeTotals } from './corrections.ts'
import { noteLateUsage } from './late-usage.ts'

export interface UsageResponse {
  readonly accepted: number
  readonly duplicates: number
  readonly rejected: readonly ({ readonly index: number } & UsageFault)[]
}

interface Indexed<T> {
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
  { maxAgeMs = USAGE_MAX_AGE_MS, deliveryId }: UsageOptions = {},
): Promise<UsageResponse> {
  const results = values.map((value) => readUsage(store, value, maxAgeMs))
  return countUsage(store, tenantId, results, firstIndex, { deliveryId })
}

export type ReadResult = ReturnType<typeof readRecord>

/** Reads a record as it was received: the record, or its fault. */
export const readUsage = (store: Store, value: unknown, maxAgeMs: number): ReadResult =>
  readRecord(value, store.clock(), maxAgeMs)

/** As {@link recordUsage}, for records that have been read. */
export async function countUsage(
  store: Store,
  tenantId: string,
  results: readonly ReadResult[],
  firstIndex: number,
  { deliveryId }: { readonly deliveryId?: number | undefined },
): Promise<UsageResponse> {
  const rejected: Rejections = new Map()
  const read: Indexed<ReadRecord>[] = []
  results.forEach((result, i) => {
    if ('fault' in result) rejected.set(firstIndex + i, result.fault)
    else read.push({ index: firstIndex + i, record: result.record })
  })
  const { accepted, duplicates } = await countAll({ store, tenantId, deliveryId: deliveryId ?? null }, read, rejected)
  const inOrder = [...rejected].sort(([a], [b]) => a - b)
  return { accepted, duplicates, rejected: inOrder.map(([index, fault]) => ({ index, ...fault })) }
}

interface Whose {
  readonly store: Store
  readonly tenantId: string
  readonly deliveryId: number | null
}

/**
 * Counts parsed records. Totals above `MOST_TOTAL` would not add up exactly. If the records lead to such a total,
 * counts each half on its own, down to the record that causes it. That record is rejected.
 */
async function countAll(
  whose: Whose,
  read: readonly Indexed<ReadRecord>[],
  rejected: Rejections,
): Promise<Pick<Counted, 'accepted' | 'duplicates'>> {
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
  { store, tenantId, deliveryId }: Whose,
  read: readonly Indexed<ReadRecord>[],
  rejected: Rejections,
): Promise<Counted> {
  let counted: Counted = { accepted: 0, duplicates: 0, unopened: [] }
  await partitionsFor(
    store,
    read.map(({ record }) => record.at),
  )
  while (read.length > 0) {
    counted = await counting(
      () => inTenant(store, tenantId, (tx) => countChunk(tx, read, rejected, deliveryId)),
      rejected,
    )
    const { unopened } = counted
    if (unopened.length === 0) break
    await inTenant(store, tenantId, async (tx) => {
      for (const cycle of unopened) await openCycle(tx, cycle)
    })
  }
  return counted
}

/** Counts again while other transactions change what a chunk relies on. */
async function counting(count: () => Promise<Counted>, rejected: Rejections): Promise<Counted> {
  for (let attempt = 1; ; attempt++) {
    rejected.clear()
    try {
      return await count()
    } catch (error) {
      if (!(error instanceof Outdated) || attempt === MOST_ATTEMPTS) throw error
    }
  }
}

interface Counted {
  readonly accepted: number
  readonly duplicates: number
  /** Cycles that must be opened first. If there are any, nothing was written. */
  readonly unopened: readonly Cycle[]
}

/** Another transaction has changed what this one relies on. Nothing was written; the chunk is counted again. */
class Outdated extends Error {}

async function countChunk(
  tx: TenantTx,
  read: readonly Indexed<ReadRecord>[],
  rejected: Rejections,
  deliveryId: number | null,
): Promise<Counted> {
  await lockMerge(tx)
  const { billingCycle } = await tenantSettings(tx)
  const staged = inCycles(read, billingCycle)
  await stageRecords(tx, staged)
  const versions = await poolVersions(tx, [...new Set(staged.map(({ cycleKey }) => cycleKey))])
  const strangers = new Set(await placeRecords(tx))
  for (const { index, record } of read) if (strangers.has(index)) rejected.set(index, unknownSim(record))
  const keys = await stagedCycles(tx)
  const unopened = await lockCycles(tx, cyclesOf(billingCycle, keys))
  if (unopened.length > 0) return { accepted: 0, duplicates: 0, unopened }
  const duplicates = await takeDuplicates(tx, read, rejected)
  let isChanged = false
  for (const { cycleKey, poolIds } of await stagedPools(tx)) {
    const locked = await lockPools(tx, cycleKey, poolIds)
    isChanged ||= locked.some(({ poolId, version }) => version !== (versions.get(`${cycleKey}/${poolId}`) ?? 1))
  }
  // From here on no ticket can move a SIM out of these pools. One that did so before has changed its pools' versions.
  if (isChanged && (await hasMoved(tx))) throw new Outdated('a SIM has moved')
  if (read.some(({ record }) => record.correction)) await refuseCorrections(tx, keys, rejected)
  const accepted = read.length - rejectedOf(read, rejected) - duplicates.total
  if ((await storeRecords(tx, deliveryId)) !== accepted) throw new Outdated('records were stored meanwhile')
  if (accepted > 0) {
    await addToLedger(tx)
    await addToBuckets(tx)
    await noteSightings(
      tx,
      read.some(({ record }) => record.imei !== null),
    )
    await markUsageDue(tx)
  }
  await countRecords(tx, duplicates.byCycle)
  await noteLateUsage(tx, keys)
  return { accepted, duplicates: duplicates.total, unopened: [] }
}

/** The records with their cycles and time buckets. Records of one time mostly belong to one cycle. */
function inCycles(read: readonly Indexed<ReadRecord>[], billingCycle: string) {
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

const rejectedOf = (read: readonly Indexed<ReadRecord>[], rejected: Rejections): number =>
  read.reduce((count, { index }) => count + (rejected.has(index) ? 1 : 0), 0)

function unknownSim({ iccid, simId }: ReadRecord): UsageFault {
  return {
    code: 'sim_not_found',
    detail: `there is no SIM with ${iccid === null ? `simId ${simId}` : `iccid ${iccid}`}`,
  }
}

/** Takes known records off the stage. Those that contradict what is known are rejected. */
async function takeDuplicates(
  tx: TenantTx,
  read: readonly Indexed<ReadRecord>[],
  rejected: Rejections,
): Promise<{ readonly total: number; readonly byCycle: Map<string, number> }> {
  const identities = new Set(read.map(({ record }) => `${record.at}/${record.recordId}`))
  const byCycle = new Map<string, number>()
  const known = await takeKnown(tx, identities.size < read.length)
  const same = known.filter(({ isSame }) => isSame)
  for (const { cycleKey } of same) byCycle.set(cycleKey, (byCycle.get(cycleKey) ?? 0) + 1)
  const other = new Set(known.flatMap(({ index, isSame }) => (isSame ? [] : index)))
  for (const { index, record } of read) {
    if (!other.has(index)) continue
    const detail = `recordId '${record.recordId}' at ${new Date(record.at).toISOString()} is known with other content`
    rejected.set(index, { code: 'record_conflict', detail })
  }
  return { total: same.length, byCycle }
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
