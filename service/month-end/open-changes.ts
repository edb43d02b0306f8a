/**
 * Opens the tickets of a month end: for queued changes, and for suspended SIMs that come back. Each batch of SIMs is
 * one transaction. The tickets take effect at the boundary, whenever they complete.
 *
 * Safe to run twice and concurrently. The SIMs' row locks order the batches. A SIM that already has a row of this month
 * end for its change is skipped. A change whose ticket cannot be opened is recorded like a failed one, and stays
 * queued.
 */
import { randomUUID } from 'node:crypto'
import { TicketType } from '../../domain/codes.ts'
import { ServiceError } from '../../domain/errors.ts'
import type { ChangeKind, ChangesOpened, MonthEndKind, OpenedChange } from '../../domain/month-end/month-end.ts'
import { decide, type SimState, stateAfter } from '../../domain/tickets/decisions.ts'
import type { Cycle } from '../../domain/time/cycle.ts'
import { noteChange } from '../../store/audit.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { type LockedSim, lockSims, readSimStates } from '../sims/rows/sim-state.ts'
import { stepTicketId } from '../tickets/cause.ts'
import { noteFailures } from '../tickets/change-outcome.ts'
import { checkPlace } from '../tickets/open-ticket.ts'
import { insertTickets, openTicketsOf, ticketsThatExist } from '../tickets/rows/tickets.ts'
import { lockCycles } from '../usage/rows/cycle-locks.ts'
import { closedCycles, endedCycle } from '../usage/rows/cycles.ts'
import {
  type ChangeTarget,
  changeTargets,
  type SimRange,
  saveBegun,
  simsThatFailed,
  simsToChange,
} from './rows/changes.ts'

/** SIMs in a transaction, which locks them for about a fifth of a second. */
const MOST = 500

interface Work {
  readonly cycle: Cycle
  readonly kind: MonthEndKind
  /** True: SIMs that have failed in this month end; false: SIMs not begun. */
  readonly again: boolean
}

/**
 * Opens tickets for the changes of a range of SIMs: the first 500 without a ticket.
 *
 * @returns the result of each SIM; `nextAfterSimId` is null if the range is done
 * @throws ServiceError `cycle_not_found`, `cycle_open`, `cycle_closed`
 */
export async function applyChanges(
  tx: TenantTx,
  key: string,
  { kind, ...range }: SimRange & { readonly kind: ChangeKind },
): Promise<ChangesOpened> {
  const cycle = await endedCycle(tx, key)
  return openPage(tx, { cycle, kind, again: false }, await simsToChange(tx, cycle, kind, range, MOST))
}

/**
 * Opens tickets again for failed changes still queued: the first 500 SIMs after `afterSimId`.
 *
 * @returns the result of each SIM; `nextAfterSimId` is null if none is left
 * @throws ServiceError `cycle_not_found`, `cycle_open`, `cycle_closed`
 */
export async function retryChanges(
  tx: TenantTx,
  key: string,
  { kind, afterSimId }: { readonly kind: MonthEndKind; readonly afterSimId: number },
): Promise<ChangesOpened> {
  const cycle = await endedCycle(tx, key)
  return openPage(tx, { cycle, kind, again: true }, await simsThatFailed(tx, cycle, kind, afterSimId, MOST))
}

/**
 * Opens tickets that bring back suspended SIMs, unless something else does. Only SIMs that the watchdog has suspended
 * until the renewal get one. A SIM gets none if its open tickets already lead to another state.
 *
 * @throws ServiceError `cycle_not_found`, `cycle_open`, `cycle_closed`
 */
export async function openReturns(tx: TenantTx, key: string, simIds: readonly number[]): Promise<ChangesOpened> {
  return openPage(tx, { cycle: await endedCycle(tx, key), kind: 'return', again: false }, simIds)
}

async function openPage(tx: TenantTx, work: Work, simIds: readonly number[]): Promise<ChangesOpened> {
  await lockSims(tx, simIds)
  await mustBeOpen(tx, work.cycle)
  const results = await openEach(tx, work, await changeTargets(tx, work.cycle, work.kind, simIds, work.again))
  return { results, nextAfterSimId: simIds.length < MOST ? null : (simIds.at(-1) ?? null) }
}

/**
 * A change begun before the close takes effect at this boundary. After the close it waits for the next one.
 *
 * @throws ServiceError `cycle_closed`
 */
async function mustBeOpen(tx: TenantTx, cycle: Cycle): Promise<void> {
  await lockCycles(tx, [cycle])
  if ((await closedCycles(tx, [cycle.key])).length === 0) return
  throw new ServiceError('cycle_closed', `Cycle ${cycle.key} is closed: what is queued waits for the next month end.`)
}

async function openEach(tx: TenantTx, work: Work, targets: readonly ChangeTarget[]): Promise<OpenedChange[]> {
  const { cycle, kind } = work
  const steps = targets.map((target) => ({ target, id: stepTicketId(tx, target.simId) }))
  // If a step of the workflow is repeated, after days or after a reset, it opens nothing a second time.
  const before = await ticketsThatExist(
    tx,
    steps.flatMap(({ id }) => id ?? []),
  )
  const fresh = steps.filter(({ id }) => id === null || !before.has(id))
  const idOf = new Map(fresh.map(({ target, id }) => [target.simId, id ?? randomUUID()]))
  const decided = await decideEach(
    tx,
    work,
    fresh.map(({ target }) => target),
  )
  const opened = decided.flatMap((each) => {
    const id = idOf.get(each.target.simId)
    return each.refusal === undefined && id !== undefined ? { ...each, id } : []
  })
  await insertTickets(
    tx,
    opened.map(({ id, target }) => ({ id, ...target })),
    { ...askOf(work), tag: null, message: null, effectiveAt: new Date(cycle.endsAt), bulkId: null },
  )
  const begun = decided.map(
    ({ target: { simId }, refusal }): OpenedChange => ({
      simId,
      ticketId: refusal === undefined ? (idOf.get(simId) ?? null) : null,
      code: refusal?.code ?? null,
      detail: refusal?.detail ?? null,
    }),
  )
  // A SIM that cannot come back is on its way to another state: no failure.
  await saveBegun(tx, cycle.key, kind, kind === 'return' ? begun.filter(({ ticketId }) => ticketId !== null) : begun)
  if (kind !== 'return') await noteFailures(tx, cycle.key, kind, begun)
  if (begun.length > 0) {
    const after = { kind, opened: opened.length, refused: begun.length - opened.length }
    await noteChange(tx, { subject: 'cycle', id: cycle.key, before: null, after })
  }
  return begun
}

const askOf = ({ kind, cycle }: Work) => ({
  type: kind === 'return' ? TicketType.Activate : TicketType.Provision,
  poolId: null,
  tariffId: null,
  unassign: kind === 'unassign',
  cause: { by: 'month-end' as const, cycle: cycle.key },
})

interface Refusal {
  readonly code: string
  readonly detail: string
}
interface DecidedChange {
  readonly target: ChangeTarget
  /** Undefined if the ticket is to be opened. */
  readonly refusal: Refusal | undefined
}

/**
 * Decides each change, given the state that its SIM will have after the tickets before it. A change that would do
 * nothing gets its ticket too. When its turn comes, it completes at once, or acts because a ticket before it failed.
 */
async function decideEach(tx: TenantTx, work: Work, targets: readonly ChangeTarget[]): Promise<DecidedChange[]> {
  const simIds = targets.map(({ simId }) => simId)
  const sims = new Map((await readSimStates(tx, simIds)).map((sim) => [sim.simId, sim]))
  const before = await openTicketsOf(tx, simIds)
  const each = targets.flatMap((target) => {
    const sim = sims.get(target.simId)
    return sim === undefined
      ? []
      : [{ target, sim, after: (before.get(target.simId) ?? []).reduce<SimState>(stateAfter, sim) }]
  })
  const unassignable = await assignmentRefusals(tx, work, each)
  return each.map(({ target, sim, after }) => {
    const ask = { ...askOf(work), ...target }
    const decision = decide(after, ask)
    const impossible = decision.do === 'refuse' || (work.kind === 'return' && decision.do === 'nothing')
    const refusal = impossible
      ? { code: 'sim_state_conflict', detail: `SIM ${sim.simId}: ${decision.detail}.` }
      : unassignable.get(assignmentOf(after, target))
    return { target, refusal }
  })
}

/** A map key for the pool and tariff that a SIM is to have. Each is checked once for all its SIMs. */
const assignmentOf = (after: SimState, { poolId, tariffId }: ChangeTarget): string =>
  `${poolId ?? after.poolId ?? 0}/${tariffId ?? 0}`

/** Why SIMs cannot get a pool and tariff, by {@link assignmentOf}. Pools are locked in the order of their ids. */
async function assignmentRefusals(
  tx: TenantTx,
  { kind }: Work,
  each: readonly { readonly target: ChangeTarget; readonly sim: LockedSim; readonly after: SimState }[],
): Promise<Map<string, Refusal>> {
  const refusals = new Map<string, Refusal>()
  if (kind !== 'move') return refusals
  const distinct = new Map(
    each.map(({ target, after }) => {
      const poolId = target.poolId ?? after.poolId
      return [assignmentOf(after, target), { poolId, newTariffId: target.tariffId }] as const
    }),
  )
  for (const [name, { poolId, newTariffId }] of [...distinct].sort(
    ([, a], [, b]) => (a.poolId ?? 0) - (b.poolId ?? 0),
  )) {
    try {
      await checkPlace(tx, { poolId, tariffId: newTariffId }, newTariffId)
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      refusals.set(name, { code: error.code, detail: error.message })
    }
  }
  return refusals
}
