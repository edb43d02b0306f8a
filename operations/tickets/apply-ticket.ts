/** What a completed ticket changes: the SIM, its pool and tariff, what it contributes, and who suspended it. */

import { SimStatus, TicketType } from '../../domain/codes.ts'
import { suspendOnOverageId } from '../../domain/temporal/ids.ts'
import { stateAfter } from '../../domain/tickets/decisions.ts'
import { markDue } from '../../store/due.ts'
import { closeSuspension, isDueBack, writeSuspension } from '../../store/enforcement/suspensions.ts'
import {
  closeActiveSpan,
  closeMembership,
  isActive,
  type LockedSim,
  openActiveSpan,
  openMembership,
  writeSimState,
} from '../../store/estate/sim-state.ts'
import { passOverRun, signalIfStarted } from '../../store/outbox.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import type { TicketRecord } from '../../store/tickets/tickets.ts'
import { contribute, moveUsage, setOwnTariff } from '../../store/usage/contributions.ts'
import { currentCycle } from '../../store/usage/cycles.ts'

/**
 * Applies a ticket to its SIM, in the transaction that ends the ticket. Call with the SIM locked.
 * A ticket with `effectiveAt` takes effect from that instant, whenever this runs.
 */
export async function applyTicket(tx: TenantTx, sim: LockedSim, ticket: TicketRecord): Promise<void> {
  const at = ticket.effectiveAt ?? tx.now
  let suspendedBy: string | null = null
  switch (ticket.type) {
    case TicketType.Activate:
      suspendedBy = await activate(tx, sim, ticket, at)
      break
    case TicketType.Suspend:
      suspendedBy = await suspend(tx, sim, ticket, at)
      break
    case TicketType.Provision:
      if (ticket.unassign) await unassign(tx, sim, ticket, at)
      else if (sim.status === SimStatus.Unprovisioned) await provision(tx, sim, ticket, at)
      else await move(tx, sim, ticket, at)
      break
    case TicketType.Refresh:
    case TicketType['Send SMS']:
      return
  }
  await markTouched(tx, sim, stateAfter(sim, ticket).poolId)
  if (ticket.cause.by === 'user') await stepBack(tx, sim.simId, suspendedBy)
}

/** @returns id of the workflow that had suspended the SIM; null if none had */
async function activate(tx: TenantTx, sim: LockedSim, ticket: TicketRecord, at: Date): Promise<string | null> {
  await writeSimState(tx, sim, stateAfter(sim, ticket), {})
  await openActiveSpan(tx, sim.simId, at)
  await contribute(tx, { simId: sim.simId, poolId: sim.poolId ?? 0, tariffId: sim.tariffId }, at)
  return closeSuspension(tx, sim.simId, ticket.cause.by)
}

/** @returns id of the workflow whose suspension this one replaces; null if there is none */
async function suspend(tx: TenantTx, sim: LockedSim, ticket: TicketRecord, at: Date): Promise<string | null> {
  const { cause } = ticket
  if (isActive(sim)) {
    await writeSimState(tx, sim, stateAfter(sim, ticket), {})
    await closeActiveSpan(tx, sim.simId, at)
  }
  const nobody = { rule: null, cycle: null, until: null, workflowId: null }
  return writeSuspension(
    tx,
    sim.simId,
    cause.by === 'watchdog'
      ? { cause: 'watchdog', rule: cause.rule, cycle: cause.cycle, until: cause.until, workflowId: cause.workflowId }
      : { cause: 'user', ...nobody },
  )
}

async function provision(tx: TenantTx, sim: LockedSim, ticket: TicketRecord, at: Date): Promise<void> {
  const after = stateAfter(sim, ticket)
  await writeSimState(tx, sim, after, { provisionedAt: at, tag: ticket.tag })
  await openMembership(tx, sim.simId, after, at)
  // The SIM may have been in this pool earlier in the cycle, under another tariff.
  await setOwnTariff(tx, { simId: sim.simId, poolId: after.poolId ?? 0, tariffId: after.tariffId }, at)
}

async function unassign(tx: TenantTx, sim: LockedSim, ticket: TicketRecord, at: Date): Promise<void> {
  await writeSimState(tx, sim, stateAfter(sim, ticket), { provisionedAt: null, forgetQueued: 'always' })
  await closeMembership(tx, sim.simId, at)
  await closeActiveSpan(tx, sim.simId, at)
  const workflowId = await closeSuspension(tx, sim.simId, 'unassign')
  // The workflow waits to bring back a SIM that is now unassigned. The signal makes it read the SIM again and end.
  if (workflowId !== null) await signalIfStarted(tx, workflowId, 'renewed')
  if (ticket.effectiveAt !== null) {
    const nowhere = { poolId: 0, tariffId: null, contributes: false }
    await moveUsage(tx, sim.simId, { poolId: sim.poolId ?? 0 }, nowhere, at)
  }
}

async function move(tx: TenantTx, sim: LockedSim, ticket: TicketRecord, at: Date): Promise<void> {
  const after = stateAfter(sim, ticket)
  // A change queued after the boundary, while this ticket waited for the carrier, is for the next boundary.
  await writeSimState(tx, sim, after, { tag: ticket.tag, forgetQueued: ticket.effectiveAt ?? 'always' })
  await closeMembership(tx, sim.simId, at)
  await openMembership(tx, sim.simId, after, at)
  const to = { poolId: after.poolId ?? 0, tariffId: after.tariffId }
  if (ticket.effectiveAt !== null) {
    return moveUsage(tx, sim.simId, { poolId: sim.poolId ?? 0 }, { ...to, contributes: true }, at)
  }
  // In the middle of a cycle, usage stays where it was used. An active SIM contributes to both pools, and so does one
  // that this cycle brings back.
  const { key } = await currentCycle(tx)
  if (isActive(sim) || (await isDueBack(tx, sim.simId, key))) await contribute(tx, { simId: sim.simId, ...to }, at)
  else await setOwnTariff(tx, { simId: sim.simId, ...to }, at)
}

async function markTouched(tx: TenantTx, sim: LockedSim, poolAfter: number | null): Promise<void> {
  const pools = new Set([sim.poolId, poolAfter].filter((id) => id !== null))
  await markDue(tx, [
    { kind: 'sim' as const, id: sim.simId },
    ...[...pools].map((id) => ({ kind: 'pool' as const, id })),
    { kind: 'tenant' as const, id: 0 },
  ])
}

/**
 * A person has acted on the SIM, so the watchdog's workflow of this cycle steps back, if there is one. So does the
 * workflow that had suspended the SIM; it may be of a cycle that has ended.
 */
async function stepBack(tx: TenantTx, simId: number, suspendedBy: string | null): Promise<void> {
  const cycle = await currentCycle(tx)
  const workflowId = suspendOnOverageId(tx.tenantId, simId, cycle.key)
  await passOverRun(tx, workflowId)
  await signalIfStarted(tx, workflowId, 'personActed')
  if (suspendedBy !== null && suspendedBy !== workflowId) await signalIfStarted(tx, suspendedBy, 'personActed')
}
