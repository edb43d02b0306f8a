/** Counts the usage of SIMs in the running cycle before the service got them. */
import { bucketMs, type Cycle } from '../../domain/time/cycle.ts'
import type { ReadRecord } from '../../domain/usage/usage-record.ts'
import { inTenant, type Store, type TenantTx } from '../../store/tenancy.ts'
import { currentCycle, tenantSettings } from './rows/cycles.ts'
import { addToBuckets, countRecords, noteSightings, storeRecords } from './rows/merge.ts'
import { partitionsFor } from './rows/partitions.ts'
import { placeRecords, stageRecords } from './rows/stage.ts'

/** The usage of a SIM in the running cycle so far. */
export interface UsedSoFar {
  readonly simId: number
  readonly iccid: string
  /** First possible instant of the usage, in epoch milliseconds, in the running cycle. */
  readonly at: number
  readonly bytes: number
  readonly voiceSeconds: number
  readonly smsCount: number
}

/**
 * Stores the usage so far of SIMs inserted by this transaction, each as a usage record at the first possible instant:
 * so it is only in windows of time that it belongs to. The record's id is `so-far:<iccid>`, so a SIM has one in a
 * cycle. Locks nothing: {@link addSoFar} adds to rows that others change too.
 *
 * @throws Error if a SIM has such a record already
 */
export async function storeSoFar(tx: TenantTx, cycle: Cycle, used: readonly UsedSoFar[]): Promise<void> {
  const widthMs = bucketMs((await tenantSettings(tx)).billingCycle)
  const staged = used.map((sim, index) => {
    const bucketAt = Math.floor(sim.at / widthMs) * widthMs
    return { index, record: recordOf(sim), cycleKey: cycle.key, bucketAt }
  })
  await stageRecords(tx, staged)
  const { known } = await placeRecords(tx)
  if (known.length > 0) throw new Error(`${known.length} SIMs have usage so far in ${cycle.key} already`)
  await storeRecords(tx, null)
  await noteSightings(tx, false)
}

/** Adds the stored usage to the totals of pools and tenant by time. Call with merge lock, cycle and pools locked. */
export async function addSoFar(tx: TenantTx): Promise<void> {
  await addToBuckets(tx)
  await countRecords(tx, new Map())
}

const recordOf = ({ simId, iccid, at, bytes, voiceSeconds, smsCount }: UsedSoFar): ReadRecord => ({
  recordId: `so-far:${iccid}`,
  iccid: null,
  simId,
  at,
  bytesUp: 0,
  bytesDown: bytes,
  voiceSeconds,
  smsCount,
  sessions: 0,
  imei: null,
  country: null,
  mccMnc: null,
  rat: null,
  correction: false,
})

/** Less than any month, in milliseconds. */
const STEP_MS = 27 * 86_400_000

/**
 * Opens the running cycle, and makes the partitions of its months, each in a separate transaction. Call before the
 * transaction that counts. Safe to run twice.
 */
export async function prepareSoFar(store: Store, tenantId: string): Promise<void> {
  const { startsAt } = await inTenant(store, tenantId, currentCycle)
  const now = store.clock()
  const steps = Math.floor((now - startsAt) / STEP_MS) + 1
  await partitionsFor(store, [...Array.from({ length: steps }, (_, n) => startsAt + n * STEP_MS), now])
}
