/**
 * Counts usage records. Each counts once, however often it is sent.
 *
 * A chunk is one transaction. Locks are taken in the same order everywhere, so that two chunks wait for each other and
 * never deadlock: SIMs by id, then cycles, then pools by id, then the rest in key order. A cycle that is not open yet
 * is opened in a transaction of its own, because that marks the whole estate due.
 */

import { bucketMs, type Cycle, cycleAt } from '../../domain/time/cycle.ts'
import {
  MOST_TOTAL,
  type ReadRecord,
  readRecord,
  USAGE_MAX_AGE_MS,
  type UsageFault,
} from '../../domain/usage/usage-record.ts'
import { markDue } from '../../store/due.ts'
import { inTenant, type Store, type TenantTx } from '../../store/tenancy.ts'
import { lockCycles, tenantSettings } from '../../store/usage/cycles.ts'
import { openCycle } from '../../store/usage/open-cycle.ts'
import { partitionsFor } from '../../store/usage/partitions.ts'
import { lockPools } from '../../store/usage/pool-totals.ts'
import {
  addToBuckets,
  addToLedger,
  type BucketRow,
  type CycleCounts,
  countRecords,
  identity,
  insertRecords,
  lockUsageSims,
  noteSightings,
  type PlacedRecord,
  placesAt,
  type Sighting,
  type StoredRecord,
  storedRecords,
  totalOutOfRange,
  type UsageSim,
} from '../../store/usage/records.ts'
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
  const rejected: Rejections = new Map()
  const read: Indexed<ReadRecord>[] = []
  values.forEach((value, i) => {
    const result = readRecord(value, store.clock(), maxAgeMs)
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
    counted = await inTenant(store, tenantId, (tx) => countChunk(tx, read, rejected, deliveryId))
    const { unopened } = counted
    if (unopened.length === 0) break
    await inTenant(store, tenantId, async (tx) => {
      for (const cycle of unopened) await openCycle(tx, cycle)
    })
  }
  return counted
}

interface Counted {
  readonly accepted: number
  readonly duplicates: number
  /** Cycles that must be opened first. If there are any, nothing was written. */
  readonly unopened: readonly Cycle[]
}

async function countChunk(
  tx: TenantTx,
  read: readonly Indexed<ReadRecord>[],
  rejected: Rejections,
  deliveryId: number | null,
): Promise<Counted> {
  const sims = await lockUsageSims(
    tx,
    read.flatMap(({ record }) => record.iccid ?? []),
    read.flatMap(({ record }) => record.simId ?? []),
  )
  const { billingCycle } = await tenantSettings(tx)
  const known = withSims(read, sims, rejected)
  const stored = await storedRecords(
    tx,
    known.map(({ record }) => record),
  )
  const { fresh, duplicates } = sortOut(known, stored, rejected)
  const unopened = await lockCycles(tx, cyclesOf(billingCycle, [...fresh.map(({ record }) => record), ...duplicates]))
  if (unopened.length > 0) return { accepted: 0, duplicates: 0, unopened }
  const placed = await place(tx, fresh, billingCycle)
  for (const [cycleKey, pools] of poolsByCycle(placed)) await lockPools(tx, cycleKey, pools)
  const wanted = await refuseNegativeTotals(tx, placed, rejected)
  const inserted = await insertRecords(
    tx,
    wanted.map(({ record }) => record),
    deliveryId,
  )
  const accepted = wanted.filter(({ record }) => inserted.has(identity(record))).map(({ record }) => record)
  // Another chunk has written these meanwhile, for the same SIM or another one.
  const raced = wanted.filter(({ record }) => !inserted.has(identity(record)))
  if (raced.length > 0) {
    const winners = await storedRecords(
      tx,
      raced.map(({ record }) => record),
    )
    duplicates.push(...sortOut(raced, winners, rejected).duplicates)
  }
  await addUp(tx, accepted, sims, billingCycle)
  await countRecords(tx, countsOf(billingCycle, accepted, duplicates))
  await noteLateUsage(tx, accepted)
  return { accepted: accepted.length, duplicates: duplicates.length, unopened: [] }
}

function withSims(
  read: readonly Indexed<ReadRecord>[],
  sims: readonly UsageSim[],
  rejected: Rejections,
): Indexed<ReadRecord & { simId: number }>[] {
  const byIccid = new Map(sims.map((sim) => [sim.iccid, sim.simId]))
  const ids = new Set(sims.map((sim) => sim.simId))
  return read.flatMap(({ index, record }) => {
    const simId = record.iccid === null ? record.simId : byIccid.get(record.iccid)
    if (simId !== null && simId !== undefined && ids.has(simId)) return [{ index, record: { ...record, simId } }]
    const asked = record.iccid === null ? `simId ${record.simId}` : `iccid ${record.iccid}`
    rejected.set(index, { code: 'sim_not_found', detail: `there is no SIM with ${asked}` })
    return []
  })
}

const CONTENT = ['simId', 'bytesUp', 'bytesDown', 'voiceSeconds', 'smsCount', 'imei', 'correction'] as const

const sameContent = (a: StoredRecord, b: StoredRecord) => CONTENT.every((field) => a[field] === b[field])

/** Separates new records from duplicates, and rejects those that contradict a known record. */
function sortOut<T extends ReadRecord & { readonly simId: number }>(
  known: readonly Indexed<T>[],
  stored: ReadonlyMap<string, StoredRecord>,
  rejected: Rejections,
): { fresh: Indexed<T>[]; duplicates: T[] } {
  const seen = new Map<string, StoredRecord>(stored)
  const fresh: Indexed<T>[] = []
  const duplicates: T[] = []
  for (const { index, record } of known) {
    const before = seen.get(identity(record))
    if (before === undefined) {
      seen.set(identity(record), record)
      fresh.push({ index, record })
    } else if (sameContent(before, record)) duplicates.push(record)
    else {
      const detail = `recordId '${record.recordId}' at ${new Date(record.at).toISOString()} is known with other content`
      rejected.set(index, { code: 'record_conflict', detail })
    }
  }
  return { fresh, duplicates }
}

async function place(
  tx: TenantTx,
  fresh: readonly Indexed<ReadRecord & { readonly simId: number }>[],
  billingCycle: string,
): Promise<Indexed<PlacedRecord>[]> {
  const places = await placesAt(
    tx,
    fresh.map(({ record }) => ({ simId: record.simId, at: record.at })),
  )
  return fresh.map(({ index, record }, i) => ({
    index,
    record: {
      ...record,
      poolId: places[i] ?? 0,
      cycleKey: cycleAt(billingCycle, record.at).key,
    },
  }))
}

/** The cycles that records belong to, the earliest first. */
function cyclesOf(billingCycle: string, records: readonly { readonly at: number }[]): Cycle[] {
  const cycles = new Map(records.map(({ at }) => [cycleAt(billingCycle, at).key, cycleAt(billingCycle, at)]))
  return [...cycles.values()].sort((a, b) => a.startsAt - b.startsAt)
}

function poolsByCycle(placed: readonly Indexed<PlacedRecord>[]): [string, number[]][] {
  const grouped = Map.groupBy(placed, ({ record }) => record.cycleKey)
  return [...grouped]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, rows]) => [key, [...new Set(rows.map(({ record }) => record.poolId))]])
}

const amountsOf = (records: readonly ReadRecord[]) => ({
  bytes: records.reduce((sum, record) => sum + record.bytesUp + record.bytesDown, 0),
  voiceSeconds: records.reduce((sum, record) => sum + record.voiceSeconds, 0),
  smsCount: records.reduce((sum, record) => sum + record.smsCount, 0),
})

/** Adds accepted records to the ledger, the pools, the buckets and the SIMs. Marks the subjects concerned due. */
async function addUp(
  tx: TenantTx,
  accepted: readonly PlacedRecord[],
  sims: readonly UsageSim[],
  billingCycle: string,
): Promise<void> {
  if (accepted.length === 0) return
  const rows = Map.groupBy(accepted, (r) => `${r.cycleKey}/${r.simId}/${r.poolId}`)
  await addToLedger(
    tx,
    [...rows.values()].flatMap(([first, ...rest]) =>
      first === undefined
        ? []
        : {
            cycleKey: first.cycleKey,
            simId: first.simId,
            poolId: first.poolId,
            ...amountsOf([first, ...rest]),
          },
    ),
  )
  await addToBuckets(tx, bucketsOf(accepted, bucketMs(billingCycle)))
  await noteSightings(tx, sightingsOf(accepted, sims))
  await markDue(tx, [
    ...accepted.map(({ simId }) => ({ kind: 'sim' as const, id: simId })),
    ...accepted.filter(({ poolId }) => poolId !== 0).map(({ poolId }) => ({ kind: 'pool' as const, id: poolId })),
    { kind: 'tenant' as const, id: 0 },
  ])
}

function bucketsOf(accepted: readonly PlacedRecord[], widthMs: number): BucketRow[] {
  const parts = accepted.flatMap((record) => {
    const startsAt = Math.floor(record.at / widthMs) * widthMs
    return [
      { kind: 'sim' as const, id: record.simId, startsAt, record },
      ...(record.poolId === 0 ? [] : [{ kind: 'pool' as const, id: record.poolId, startsAt, record }]),
      { kind: 'tenant' as const, id: 0, startsAt, record },
    ]
  })
  const grouped = Map.groupBy(parts, (part) => `${part.kind}/${part.id}/${part.startsAt}`)
  return [...grouped.values()].flatMap((group) => {
    const [first] = group
    if (first === undefined) return []
    const { kind, id, startsAt } = first
    return [{ kind, id, startsAt, ...amountsOf(group.map((part) => part.record)) }]
  })
}

/** When each SIM was last seen, and its newest IMEI if that is newer than the known one. */
function sightingsOf(accepted: readonly PlacedRecord[], sims: readonly UsageSim[]): Sighting[] {
  const known = new Map(sims.map((sim) => [sim.simId, sim.imeiSeenAt?.getTime() ?? Number.NEGATIVE_INFINITY]))
  return [...Map.groupBy(accepted, ({ simId }) => simId)].map(([simId, records]) => {
    const newest = records
      .filter((record) => record.imei !== null && record.at > (known.get(simId) ?? Number.NEGATIVE_INFINITY))
      .reduce<PlacedRecord | null>((best, record) => (best === null || record.at > best.at ? record : best), null)
    return {
      simId,
      lastSeenAt: Math.max(...records.map(({ at }) => at)),
      imei: newest?.imei ?? null,
      imeiSeenAt: newest?.at ?? null,
    }
  })
}

function countsOf(
  billingCycle: string,
  accepted: readonly PlacedRecord[],
  duplicates: readonly ReadRecord[],
): CycleCounts[] {
  const keys = Map.groupBy(accepted, ({ cycleKey }) => cycleKey)
  const known = Map.groupBy(duplicates, ({ at }) => cycleAt(billingCycle, at).key)
  return [...new Set([...keys.keys(), ...known.keys()])].toSorted().map((cycleKey) => {
    const records = keys.get(cycleKey) ?? []
    const counted = { accepted: records.length, duplicates: known.get(cycleKey)?.length ?? 0 }
    return { cycleKey, ...counted, ...amountsOf(records) }
  })
}
