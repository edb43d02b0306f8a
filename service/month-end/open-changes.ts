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
import { lockSims, readSimStates } from '../sims/rows/sim-state.ts'
import { stepTicketId } from '../tickets/cause.ts'
import { noteFailures } from '../tickets/change-outcome.ts'
import { placeRefusal, type TicketConflict } from '../tickets/open-ticket.ts'
import { insertTickets, openTicketsOf, ticketsThatExist } from '../tickets/rows/tickets.ts'
import { endedCycle } from '../usage/rows/cycles.ts'
import { lockCycles } from '../usage/rows/open-cycle.ts'
import {
  type ChangeTarget,
  changeTargets,
  type MonthEndStep,
  type SimRange,
  saveBegun,
  simsThatFailed,
  simsToChange,
} from './rows/changes.ts'
import { findCycle } from './rows/progress.ts'

/** SIMs in a transaction, which locks them for about a fifth of a second. */
const MOST = 500

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
  const step = { cycle: await endedCycle(tx, key), kind }
  return openPage(tx, step, await simsToChange(tx, step, range, MOST))
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
  const step = { cycle: await endedCycle(tx, key), kind }
  return openPage(tx, step, await simsThatFailed(tx, step, afterSimId, MOST), true)
}

/**
 * Opens tickets that bring back suspended SIMs, unless something else does. Only SIMs that the watchdog has suspended
 * until the renewal get one. A SIM gets none if its open tickets already lead to another state.
 *
 * @throws ServiceError `cycle_not_found`, `cycle_open`, `cycle_closed`
 */
export async function openReturns(tx: TenantTx, key: string, simIds: readonly number[]): Promise<ChangesOpened> {
  return openPage(tx, { cycle: await endedCycle(tx, key), kind: 'return' }, simIds)
}

/** @param again true: SIMs that have failed in this month end; false: SIMs not begun */
async function openPage(
  tx: TenantTx,
  step: MonthEndStep,
  simIds: readonly number[],
  again = false,
): Promise<ChangesOpened> {
  await lockSims(tx, simIds)
  await mustBeOpen(tx, step.cycle)
  const results = await openEach(tx, step, await changeTargets(tx, step, simIds, again))
  return { results, nextAfterSimId: simIds.length < MOST ? null : (simIds.at(-1) ?? null) }
}

/**
 * A change begun before the close takes effect at this boundary. After the close it waits for the next one.
 *
 * @throws ServiceError `cycle_closed`
 */
async function mustBeOpen(tx: TenantTx, cycle: Cycle): Promise<void> {
  await lockCycles(tx, [cycle])
  const closedAt = (await findCycle(tx, cycle.key))?.closedAt ?? null
  if (closedAt === null) return
  throw new ServiceError('cycle_closed', `Cycle ${cycle.key} is closed: what is queued waits for the next month end.`)
}

async function openEach(tx: TenantTx, step: MonthEndStep, targets: readonly ChangeTarget[]): Promise<OpenedChange[]> {
  const { cycle, kind } = step
  const steps = targets.map((target) => ({ ...target, id: stepTicketId(tx, target.simId) }))
  // If a step of the workflow is repeated, after days or after a reset, it opens nothing a second time.
  const ids = steps.flatMap(({ id }) => id ?? [])
  const before = await ticketsThatExist(tx, ids)
  const fresh = steps.filter(({ id }) => id === null || !before.has(id))
  const decided = (await decideEach(tx, step, fresh)).map(({ change, refusal }) => {
    return { ...change, id: change.id ?? randomUUID(), refusal }
  })
  const opened = decided.filter(({ refusal }) => refusal === undefined)
  const ticket = { ...askOf(step), tag: null, message: null, effectiveAt: new Date(cycle.endsAt), bulkId: null }
  await insertTickets(tx, opened, ticket)
  const begun = decided.map(({ id, simId, refusal }): OpenedChange => {
    if (refusal === undefined) return { simId, ticketId: id, code: null, detail: null }
    return { simId, ticketId: null, ...refusal }
  })
  // A SIM that cannot come back is on its way to another state: no failure.
  await saveBegun(tx, step, kind === 'return' ? begun.filter(({ ticketId }) => ticketId !== null) : begun)
  if (kind !== 'return') {
    const failed = begun.map((one) => ({ ...one, cycleKey: cycle.key, kind }))
    await noteFailures(tx, failed)
  }
  if (begun.length > 0) {
    const after = { kind, opened: opened.length, refused: begun.length - opened.length }
    await noteChange(tx, { subject: 'cycle', id: cycle.key, before: null, after })
  }
  return begun
}

const askOf = ({ kind, cycle }: MonthEndStep) => ({
  type: kind === 'return' ? TicketType.Activate : TicketType.Provision,
  poolId: null,
  tariffId: null,
  unassign: kind === 'unassign',
  cause: { by: 'month-end' as const, cycle: cycle.key },
})

/**
 * Decides each change, given the state that its SIM will have after the tickets before it. A change that would do
 * nothing gets its ticket too. When its turn comes, it completes at once, or acts because a ticket before it failed.
 *
 * @returns each change with its SIM, the SIM's state after the tickets before it, and why its ticket is refused, if so
 */
export async function decideEach<Change extends ChangeTarget>(
  tx: TenantTx,
  step: MonthEndStep,
  changes: readonly Change[],
) {
  const simIds = changes.map(({ simId }) => simId)
  const sims = new Map((await readSimStates(tx, simIds)).map((sim) => [sim.simId, sim]))
  const open = await openTicketsOf(tx, simIds)
  const each = changes.flatMap((change) => {
    const sim = sims.get(change.simId)
    if (sim === undefined) return []
    const before = (open.get(change.simId) ?? []).reduce<SimState>(stateAfter, sim)
    return [{ change, sim, before, ask: { ...askOf(step), poolId: change.poolId, tariffId: change.tariffId } }]
  })
  const unassignable = step.kind === 'move' ? await assignmentRefusals(tx, each) : new Map<string, TicketConflict>()
  return each.map((one) => {
    const decision = decide(one.before, one.ask)
    const impossible = decision.do === 'refuse' || (step.kind === 'return' && decision.do === 'nothing')
    const refusal: TicketConflict | undefined = impossible
      ? { code: 'sim_state_conflict', detail: `SIM ${one.sim.simId}: ${decision.detail}.` }
      : unassignable.get(assignmentOf(one))
    return { ...one, refusal }
  })
}

interface PlannedChange {
  readonly change: ChangeTarget
  readonly before: SimState
}

/** A map key for the pool and tariff that a SIM is to have. Each is checked once for all its SIMs. */
const assignmentOf = ({ change: { poolId, tariffId }, before }: PlannedChange): string =>
  `${poolId ?? before.poolId ?? 0}/${tariffId ?? 0}`

/** Why SIMs cannot get a pool and tariff, by {@link assignmentOf}. Pools are locked in the order of their ids. */
async function assignmentRefusals(tx: TenantTx, each: readonly PlannedChange[]): Promise<Map<string, TicketConflict>> {
  const places = new Map(
    each.map((one) => {
      const { change, before } = one
      return [assignmentOf(one), { poolId: change.poolId ?? before.poolId, tariffId: change.tariffId }]
    }),
  )
  const refusals = new Map<string, TicketConflict>()
  for (const [name, place] of [...places].sort(([, a], [, b]) => (a.poolId ?? 0) - (b.poolId ?? 0))) {
    const refusal = await placeRefusal(tx, place, place.tariffId)
    if (refusal !== undefined) refusals.set(name, refusal)
  }
  return refusals
}
