/** What a completed ticket changes: the SIM, what it belongs to, what it contributes, who suspended it. */

import { SimStatus, TicketType } from '../../domain/codes.ts'
import { suspendOnOverageId } from '../../domain/temporal/ids.ts'
import { stateAfter } from '../../domain/tickets/decisions.ts'
import { SUBJECT_CODES } from '../../domain/watchdog/subject.ts'
import { markDue } from '../../store/due.ts'
import {
  closeActiveSpan,
  closeMembership,
  closeSuspension,
  isActive,
  type LockedSim,
  openActiveSpan,
  openMembership,
  writeSimState,
  writeSuspension,
} from '../../store/estate/sim-state.ts'
import { lockRun, signalIfStarted } from '../../store/outbox.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import type { TicketRecord } from '../../store/tickets/tickets.ts'
import { contribute, moveUsage, setOwnTariff } from '../../store/usage/contributions.ts'
import { currentCycle } from '../../store/usage/cycles.ts'

/**
 * Applies a ticket to its SIM, in the transaction that ends the ticket. The SIM is locked.
 * What is effective at a boundary is so from that instant on, whenever this runs.
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

/** @returns the workflow that had suspended it */
async function activate(tx: TenantTx, sim: LockedSim, ticket: TicketRecord, at: Date): Promise<string | null> {
  await writeSimState(tx, sim.simId, stateAfter(sim, ticket), {})
  await openActiveSpan(tx, sim.simId, at)
  await contribute(tx, { simId: sim.simId, poolId: sim.poolId ?? 0, tariffId: sim.tariffId }, at)
  return closeSuspension(tx, sim.simId, ticket.cause.by)
}

/** @returns the workflow whose suspension it was before */
async function suspend(tx: TenantTx, sim: LockedSim, ticket: TicketRecord, at: Date): Promise<string | null> {
  const { cause } = ticket
  if (isActive(sim)) {
    await writeSimState(tx, sim.simId, stateAfter(sim, ticket), {})
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
  await writeSimState(tx, sim.simId, after, { provisionedAt: at, tag: ticket.tag })
  await openMembership(tx, sim.simId, after, at)
  // It may have been here earlier in the cycle, under another tariff.
  await setOwnTariff(tx, { simId: sim.simId, poolId: after.poolId ?? 0, tariffId: after.tariffId }, at)
}

async function unassign(tx: TenantTx, sim: LockedSim, ticket: TicketRecord, at: Date): Promise<void> {
  await writeSimState(tx, sim.simId, stateAfter(sim, ticket), { provisionedAt: null, forgetQueued: 'always' })
  await closeMembership(tx, sim.simId, at)
  await closeActiveSpan(tx, sim.simId, at)
  const workflowId = await closeSuspension(tx, sim.simId, 'unassign')
  // It waits to bring back a SIM that is gone: it reads the SIM again and ends.
  if (workflowId !== null) await signalIfStarted(tx, workflowId, 'renewed')
  if (ticket.effectiveAt !== null) {
    const nowhere = { poolId: 0, tariffId: null, contributes: false }
    await moveUsage(tx, sim.simId, { poolId: sim.poolId ?? 0 }, nowhere, at)
  }
}

async function move(tx: TenantTx, sim: LockedSim, ticket: TicketRecord, at: Date): Promise<void> {
  const after = stateAfter(sim, ticket)
  // What was queued since the boundary, while this waited for the carrier, is for the next one.
  await writeSimState(tx, sim.simId, after, { tag: ticket.tag, forgetQueued: ticket.effectiveAt ?? 'always' })
  await closeMembership(tx, sim.simId, at)
  await openMembership(tx, sim.simId, after, at)
  const to = { poolId: after.poolId ?? 0, tariffId: after.tariffId }
  if (ticket.effectiveAt !== null) {
    return moveUsage(tx, sim.simId, { poolId: sim.poolId ?? 0 }, { ...to, contributes: true }, at)
  }
  // In the middle of a cycle: what was used stays where it was used, and it contributes to both pools.
  if (isActive(sim)) await contribute(tx, { simId: sim.simId, ...to }, at)
  else await setOwnTariff(tx, { simId: sim.simId, ...to }, at)
}

async function markTouched(tx: TenantTx, sim: LockedSim, poolAfter: number | null): Promise<void> {
  const pools = new Set([sim.poolId, poolAfter].filter((id) => id !== null))
  await markDue(tx, [
    { kind: SUBJECT_CODES.sim, id: sim.simId },
    ...[...pools].map((id) => ({ kind: SUBJECT_CODES.pool, id })),
    { kind: SUBJECT_CODES.tenant, id: 0 },
  ])
}

/**
 * A person has acted on the SIM: the watchdog's workflow of this cycle, if there is one, steps back, and so does the
 * one that had suspended it, whose cycle may have ended.
 */
async function stepBack(tx: TenantTx, simId: number, suspendedBy: string | null): Promise<void> {
  const cycle = await currentCycle(tx)
  const workflowId = suspendOnOverageId(tx.tenantId, simId, cycle.key)
  await lockRun(tx, workflowId)
  await signalIfStarted(tx, workflowId, 'personActed')
  if (suspendedBy !== null && suspendedBy !== workflowId) await signalIfStarted(tx, suspendedBy, 'personActed')
}
