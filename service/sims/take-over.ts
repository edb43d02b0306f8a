/**
 * Takes over SIMs already in use at the carrier. Afterwards everything is as if their tickets had completed: the SIMs
 * in each pool, those that contribute and pay, and the work due. The carrier is not called.
 */
import { EventSeverity, EventType, SimStatus } from '../../domain/codes.ts'
import { megabytes } from '../../domain/quantity.ts'
import type { ImportedSim, ImportTotals } from '../../domain/sims/sim-import.ts'
import type { Cycle } from '../../domain/time/cycle.ts'
import { toMB } from '../../domain/units.ts'
import { noteChange } from '../../store/audit.ts'
import { noteSubjectsChanged } from '../../store/changed.ts'
import { insertEvent } from '../../store/events.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { countInPools } from '../pools/rows/pools.ts'
import { countRows, insertRows } from '../usage/rows/contributions.ts'
import { currentCycle } from '../usage/rows/cycles.ts'
import { noteFirstReceived } from '../usage/rows/feed.ts'
import { lockMerge } from '../usage/rows/merge.ts'
import { addSoFar, storeSoFar, type UsedSoFar } from '../usage/used-so-far.ts'
import { activatedMs, hasUsage, statusOf } from './check-sim.ts'
import { openActiveSpans, openMemberships } from './rows/sim-state.ts'
import { BY_PERSON, writeSuspensions } from './rows/suspensions.ts'

const BATCH = 5000

/** A SIM that this transaction has inserted. */
interface InsertedSim {
  readonly id: number
  readonly sim: ImportedSim
}

type TakenCounts = ImportTotals & { readonly rejected: number }

/**
 * Writes the rows that belong to SIMs inserted in this transaction with a state of the carrier. Does nothing for
 * Unprovisioned ones.
 *
 * No row is before the running cycle: earlier cycles were billed by the previous operator of the SIMs.
 *
 * @param counted goes into the audit trail
 */
export async function takeOver(tx: TenantTx, taken: readonly InsertedSim[], counted: TakenCounts): Promise<void> {
  const provisioned = taken.filter(({ sim }) => statusOf(sim) !== SimStatus.Unprovisioned)
  if (provisioned.length === 0) return
  const cycle = await currentCycle(tx)
  const used = provisioned.flatMap((one) => usedSoFar(one, cycle, tx.now))
  for (let start = 0; start < provisioned.length; start += BATCH) {
    await writePast(tx, provisioned.slice(start, start + BATCH), cycle)
  }
  await storeSoFar(tx, cycle, used)
  const rows = await insertRows(tx, cycle.key, provisioned.filter((one) => contributes(one, cycle)).map(placeOf))
  // Up to here all rows are new, and no transaction waits for them. From here on others do.
  await countInPools(tx, poolCounts(provisioned))
  if (used.length > 0) await lockMerge(tx)
  await countRows(tx, rows, provisioned.filter(isActive).map(placeOf))
  if (used.length > 0) await addSoFar(tx)
  // Else the feed would be stale at once: SIMs may have been Active since before the service got them.
  await noteFirstReceived(tx)
  await noteSubjectsChanged(tx, {
    simIds: provisioned.map(({ id }) => id),
    poolIds: provisioned.flatMap(({ sim }) => sim.poolId ?? []),
  })
  await noteTaken(tx, cycle, counted)
}

/** Writes the rows that only a batch has: since when its SIMs are in their pools, and the cause of suspensions. */
async function writePast(tx: TenantTx, sims: readonly InsertedSim[], cycle: Cycle): Promise<void> {
  const histories = sims.map((one) => historyOf(one, cycle, tx.now))
  await openMemberships(tx, histories)
  const active = histories.filter(({ until }) => until !== undefined)
  await openActiveSpans(tx, active)
  const suspended = sims.filter(isSuspendedByPerson).map(({ id }) => ({ simId: id, ...BY_PERSON }))
  await writeSuspensions(tx, suspended)
}

function poolCounts(sims: readonly InsertedSim[]) {
  const byPool = Map.groupBy(sims, ({ sim }) => sim.poolId ?? 0)
  byPool.delete(0)
  return [...byPool].map(([poolId, own]) => ({ poolId, active: own.filter(isActive).length, total: own.length }))
}

/** The first instant of a SIM that concerns the service: its activation, but not before the cycle. */
const sinceOf = (sim: ImportedSim, cycle: Cycle, now: Date): number =>
  Math.max(cycle.startsAt, activatedMs(sim) ?? now.getTime())

const isActive = ({ sim }: InsertedSim): boolean => statusOf(sim) === SimStatus.Active

/** A SIM that was Active and is Suspended counts as suspended by a person: the service does not bring it back. */
const isSuspendedByPerson = ({ sim }: InsertedSim): boolean =>
  statusOf(sim) === SimStatus.Suspended && activatedMs(sim) !== undefined

/**
 * Whether a SIM was Active in the running cycle, and so contributes and pays. A Suspended one was if it was activated
 * in it, or has usage in it.
 */
const contributes = (taken: InsertedSim, cycle: Cycle): boolean =>
  isActive(taken) ||
  (isSuspendedByPerson(taken) && (hasUsage(taken.sim) || (activatedMs(taken.sim) ?? 0) >= cycle.startsAt))

const placeOf = ({ id, sim }: InsertedSim) => ({ simId: id, poolId: sim.poolId ?? 0, tariffId: sim.tariffId ?? null })

/** A SIM in its pool since an instant, and until when it was Active: null if it still is, undefined if it was not. */
function historyOf(taken: InsertedSim, cycle: Cycle, now: Date) {
  const since = sinceOf(taken.sim, cycle, now)
  // A span without length would not contribute.
  const ended = new Date(Math.max(now.getTime(), since + 1))
  const until = isActive(taken) ? null : contributes(taken, cycle) ? ended : undefined
  return { ...placeOf(taken), at: new Date(since), until }
}

function usedSoFar({ id, sim }: InsertedSim, cycle: Cycle, now: Date): UsedSoFar[] {
  if (!hasUsage(sim)) return []
  const { iccid, usageBytes, voiceSeconds, smsCount } = sim
  const amounts = { bytes: usageBytes ?? 0, voiceSeconds: voiceSeconds ?? 0, smsCount: smsCount ?? 0 }
  return [{ simId: id, iccid, at: sinceOf(sim, cycle, now), ...amounts }]
}

async function noteTaken(tx: TenantTx, { key }: Cycle, counted: TakenCounts): Promise<void> {
  const id = tx.caller?.requestId ?? ''
  await noteChange(tx, { subject: 'sim-import', id, before: null, after: { cycle: key, ...counted } })
  const { active, suspended, unprovisioned, usageBytes } = counted
  await insertEvent(tx, {
    type: EventType.Connectivity,
    severity: EventSeverity.Info,
    title: `SIMs taken over: ${active + suspended}`,
    description: `${active} Active, ${suspended} Suspended and ${unprovisioned} Unprovisioned SIMs came in as they are, with ${megabytes(toMB(usageBytes))} used in billing cycle ${key} before.`,
  })
}
