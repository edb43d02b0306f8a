/**
 * Applies completed tickets: changes SIMs, their pools and tariffs, their contributions, and the cause of suspensions.
 */

import { SimStatus, TicketType } from '../../domain/codes.ts'
import { suspendOnOverageId } from '../../domain/temporal/ids.ts'
import { stateAfter } from '../../domain/tickets/decisions.ts'
import { markDue } from '../../store/due.ts'
import { passOverStarted, signalStarted } from '../../store/outbox.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import {
  closeActiveSpans,
  closeMemberships,
  isActive,
  type LockedSim,
  openActiveSpans,
  openMemberships,
  type SimChange,
  writeSimStates,
} from '../sims/rows/sim-state.ts'
import { BY_PERSON, closeSuspensions, dueBack, writeSuspensions } from '../sims/rows/suspensions.ts'
import {
  changeSeats,
  type HeldCycles,
  holdCycles,
  type Move,
  type SeatSince,
  settleAhead,
} from '../usage/rows/contributions.ts'
import type { TicketRecord } from './rows/tickets.ts'

/** A completed ticket, with its SIM before it. */
export interface Completion {
  readonly sim: LockedSim
  readonly ticket: TicketRecord
}

/** The effect of a ticket on its SIM. `provision`: of an unprovisioned SIM; `move`: to another pool or tariff. */
type Deed = 'activate' | 'suspend' | 'provision' | 'unassign' | 'move'

interface TicketEffect extends Completion {
  readonly simId: number
  readonly deed: Deed
  readonly after: ReturnType<typeof stateAfter>
  /** From when on. */
  readonly at: Date
}

/**
 * Applies tickets to their SIMs, in the transaction that ends them: the same statements for any number. Call with the
 * SIMs locked; no SIM is named twice. A ticket with `effectiveAt` takes effect from that instant, whenever this runs.
 *
 * Locks cycles by time, then pools by id, then the rest.
 */
export async function applyTickets(tx: TenantTx, completed: readonly Completion[]): Promise<void> {
  const applied = completed.flatMap((one) => appliedOf(tx, one)).toSorted((a, b) => a.simId - b.simId)
  if (applied.length === 0) return
  const cycles = await holdCycles(tx, new Date(Math.min(...applied.map(({ at }) => at.getTime()))))
  const running = cycles.since.findLast(({ startsAt }) => startsAt <= tx.now.getTime())
  if (running === undefined) throw new Error(`tenant ${tx.tenantId} has no running cycle`)
  const of = (...deeds: Deed[]) => applied.filter(({ deed }) => deeds.includes(deed))

  await writeSimStates(tx, applied.flatMap(changeOf))
  await closeMemberships(tx, of('unassign', 'move'))
  const placed = of('provision', 'move').map(({ simId, at, after }) => ({ ...after, simId, at }))
  await openMemberships(tx, placed)
  await closeActiveSpans(tx, [...of('unassign'), ...of('suspend').filter(({ sim }) => isActive(sim))])
  await openActiveSpans(tx, of('activate'))
  const replaced = await writeSuspensions(tx, of('suspend').map(suspensionOf))
  const released = of('activate', 'unassign').map(({ simId, deed, ticket }) => {
    return { simId, because: deed === 'unassign' ? 'unassign' : ticket.cause.by }
  })
  const ended = await closeSuspensions(tx, released)
  await moveSeats(tx, cycles, running.key, applied)
  await markTouched(tx, applied)
  await signalWorkflows(tx, running.key, applied, { replaced, ended })
}

function appliedOf(tx: TenantTx, { sim, ticket }: Completion): TicketEffect[] {
  const deed = deedOf(sim, ticket)
  if (deed === null) return []
  return [{ sim, ticket, simId: sim.simId, deed, after: stateAfter(sim, ticket), at: ticket.effectiveAt ?? tx.now }]
}

/** Null for a ticket without effect on our rows. */
function deedOf(sim: LockedSim, ticket: TicketRecord): Deed | null {
  switch (ticket.type) {
    case TicketType.Activate:
      return 'activate'
    case TicketType.Suspend:
      return 'suspend'
    case TicketType.Provision:
      if (ticket.unassign) return 'unassign'
      return sim.status === SimStatus.Unprovisioned ? 'provision' : 'move'
    case TicketType.Refresh:
    case TicketType['Send SMS']:
      return null
  }
}

function changeOf({ sim, ticket, deed, after, at }: TicketEffect): SimChange[] {
  switch (deed) {
    case 'activate':
      return [{ sim, after }]
    case 'suspend':
      // A person's suspension replaces the watchdog's; the SIM stays unchanged.
      return isActive(sim) ? [{ sim, after }] : []
    case 'provision':
      return [{ sim, after, provisionedAt: at, tag: ticket.tag }]
    case 'unassign':
      return [{ sim, after, provisionedAt: null, forgetQueued: 'always' }]
    case 'move':
      // A change queued after the boundary, while this ticket waited for the carrier, is for the next boundary.
      return [{ sim, after, tag: ticket.tag, forgetQueued: ticket.effectiveAt ?? 'always' }]
  }
}

function suspensionOf({ simId, ticket: { cause } }: TicketEffect) {
  if (cause.by !== 'watchdog') return { simId, ...BY_PERSON }
  const { rule, cycle, until, workflowId } = cause
  return { simId, cause: 'watchdog' as const, rule, cycle, until, workflowId }
}

async function moveSeats(
  tx: TenantTx,
  cycles: HeldCycles,
  running: string,
  applied: readonly TicketEffect[],
): Promise<void> {
  const active: SeatSince[] = []
  const tariffs: SeatSince[] = []
  const moves: Move[] = []
  const suspended = applied.filter(({ deed, sim }) => deed === 'move' && !isActive(sim)).map(({ simId }) => simId)
  const comesBack = await dueBack(tx, suspended, running)
  for (const { sim, simId, ticket, deed, after, at } of applied) {
    const seat = { simId, poolId: after.poolId ?? 0, tariffId: after.tariffId, at }
    const from = sim.poolId ?? 0
    if (deed === 'activate') active.push(seat)
    // The SIM may have been in this pool earlier in the cycle, under another tariff.
    else if (deed === 'provision') tariffs.push(seat)
    else if (deed === 'unassign' && ticket.effectiveAt !== null) {
      moves.push({ simId, from, poolId: 0, tariffId: null, contributes: false, at })
    } else if (deed === 'move') {
      if (ticket.effectiveAt !== null) moves.push({ ...seat, from, contributes: true })
      // In the middle of a cycle, usage stays in its pool. An active SIM contributes to both pools, and so does one
      // that this cycle brings back.
      else if (isActive(sim) || comesBack.has(simId)) active.push(seat)
      else tariffs.push(seat)
    }
  }
  await changeSeats(tx, cycles, { active, tariffs, moves })
  const simIds = applied.map(({ simId }) => simId)
  await settleAhead(tx, cycles, simIds)
}

async function markTouched(tx: TenantTx, applied: readonly TicketEffect[]): Promise<void> {
  const pools = new Set(applied.flatMap(({ sim, after }) => [sim.poolId, after.poolId]).filter((id) => id !== null))
  await markDue(tx, [
    ...applied.map(({ simId }) => ({ kind: 'sim' as const, id: simId })),
    ...[...pools].map((id) => ({ kind: 'pool' as const, id })),
    { kind: 'tenant' as const, id: 0 },
  ])
}

/**
 * If a person has acted on a SIM, the watchdog's workflow of this cycle steps back, if there is one. So does the
 * workflow that had suspended the SIM; it may be of an ended cycle. A workflow that waits to bring back a SIM that is
 * now unassigned is signalled to read the SIM again, and ends.
 */
async function signalWorkflows(
  tx: TenantTx,
  cycleKey: string,
  applied: readonly TicketEffect[],
  { replaced, ended }: { readonly replaced: ReadonlyMap<number, string>; readonly ended: ReadonlyMap<number, string> },
): Promise<void> {
  const ownOf = (simId: number) => suspendOnOverageId(tx.tenantId, simId, cycleKey)
  const byPersons = applied.filter(({ ticket }) => ticket.cause.by === 'user').map(({ simId }) => ownOf(simId))
  const known = await passOverStarted(tx, byPersons)
  const signals = applied.flatMap(({ simId, deed, ticket }) => {
    const suspendedBy = ended.get(simId) ?? replaced.get(simId)
    const told: { workflowId: string; signal: 'renewed' | 'personActed' }[] = []
    if (deed === 'unassign' && suspendedBy !== undefined) told.push({ workflowId: suspendedBy, signal: 'renewed' })
    if (ticket.cause.by !== 'user') return told
    const own = ownOf(simId)
    told.push({ workflowId: own, signal: 'personActed' })
    const isOther = deed !== 'unassign' && suspendedBy !== undefined && suspendedBy !== own
    if (isOther) told.push({ workflowId: suspendedBy, signal: 'personActed' })
    return told
  })
  await signalStarted(tx, signals, known)
}
