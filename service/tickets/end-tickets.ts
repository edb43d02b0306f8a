/** Ends tickets: complete, failed or cancelled. */

import { EventSeverity, EventType, labelOf, TicketStatus, TicketType } from '../../domain/codes.ts'
import { counted } from '../../domain/quantity.ts'
import { tenantOfWorkflow, workflowTypeOf } from '../../domain/temporal/ids.ts'
import {
  COMPLETE,
  cancelledEnd,
  type EndedTicket,
  isRefusal,
  TICKETS_ENDED,
  type TicketEnd,
  WAIT_FOR_TICKETS,
} from '../../domain/temporal/ticket-ends.ts'
import type { Cause } from '../../domain/tickets/ticket.ts'
import { insertEvents } from '../../store/events.ts'
import { noteRefused, tellOfTickets } from '../../store/outbox.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { dropIdleChanges } from '../sims/rows/sim-changes.ts'
import { simLabels } from '../sims/rows/sims.ts'
import { noteMonthEnd, type TicketOutcome } from './change-outcome.ts'
import { writeTicketEnds } from './rows/batches.ts'
import type { TicketFailure, TicketRecord } from './rows/tickets.ts'

/** A ticket, and how it ends. */
export interface TicketEnding {
  readonly ticket: TicketRecord
  /** Null if it is complete or cancelled. */
  readonly failure: TicketFailure | null
  readonly isCancelled?: true
}

const STATUS = {
  complete: TicketStatus.Complete,
  failed: TicketStatus.Failed,
  cancelled: TicketStatus.Cancelled,
} as const

/**
 * Ends tickets, for any number in the same statements: their rows and the work list, the month end, events, and signals
 * to the workflows that wait. Call with their SIMs locked, and after the changes of completed ones were applied.
 */
export async function endTickets(tx: TenantTx, tickets: readonly TicketEnding[]): Promise<void> {
  if (tickets.length === 0) return
  const ended = tickets.map((one) => ({ ...one, end: endOf(one) }))
  const rows = ended.map(({ ticket, end, failure }) => ({ ticket, status: STATUS[end.status], failure }))
  const next = await writeTicketEnds(tx, rows)
  const refused = ended.flatMap(({ ticket, end }) => refusedRun(ticket, end))
  await noteRefused(tx, refused)
  await noteMonthEnd(tx, ended)
  await recordEvents(tx, ended)
  const signals = ended.map(({ ticket, end }) => ({ ...ticket, end, next: next.get(ticket.simId) ?? null }))
  await signalEnds(tx, signals)
  const unsuccessful = ended.filter(({ end }) => end.status !== 'complete').map(({ ticket }) => ticket.simId)
  await dropChangesOfIdle(tx, unsuccessful)
}

function endOf({ ticket, failure, isCancelled }: TicketEnding): TicketEnd {
  if (isCancelled) return cancelledEnd(ticket.id)
  return failure === null ? COMPLETE : { status: 'failed', code: failure.code, detail: failure.text }
}

/** The workflow that asked for a suspension on the watchdog's behalf, if the carrier has refused it for good. */
const refusedRun = ({ type, cause }: TicketRecord, end: TicketEnd): string[] =>
  type === TicketType.Suspend && cause.by === 'watchdog' && isRefusal(end) ? [cause.workflowId] : []

/** Writes the Connectivity events of ended tickets, in one statement for any number. A failure is a Warning. */
async function recordEvents(tx: TenantTx, ended: readonly TicketOutcome[]): Promise<void> {
  const simIds = ended.map(({ ticket }) => ticket.simId)
  const labels = await simLabels(tx, simIds)
  const events = ended.map(({ ticket, end }) => {
    const label = labels.get(ticket.simId) ?? String(ticket.simId)
    const kind = ticket.type === TicketType.Provision && ticket.unassign ? 'Unassign' : labelOf(TicketType, ticket.type)
    return {
      type: EventType.Connectivity,
      severity: end.status === 'failed' ? EventSeverity.Warning : EventSeverity.Info,
      title: `${kind} ${end.status === 'complete' ? 'completed' : end.status}: SIM ${label}`,
      description: descriptionOf({ ticket, end }, label),
    }
  })
  await insertEvents(tx, events)
}

function descriptionOf({ ticket: { id, attempts }, end }: TicketOutcome, label: string): string {
  switch (end.status) {
    case 'complete':
      return `Ticket ${id} has completed on SIM ${label}.`
    case 'failed':
      return `Ticket ${id} on SIM ${label} has failed after ${counted(attempts, 'attempt')}: ${end.detail} (${end.code}).`
    case 'cancelled':
      return `Ticket ${id} on SIM ${label} was cancelled while it was pending.`
  }
}

interface EndSignal extends Pick<TicketRecord, 'id' | 'cause'> {
  readonly end: TicketEnd
  /** The cause of the SIM's next ticket; null if it has none. */
  readonly next: Cause | null
}

/**
 * How long the end of a ticket waits for the end of the next one, to be sent with it. A second is longer than most
 * carriers take, and no workflow waits for the first end alone.
 */
const HELD_MS = 1000

/**
 * Puts a signal into the outbox for each workflow that waits for one of these tickets, in one statement.
 *
 * If the SIM of a completed ticket has a ticket of the same workflow next, its end is not sent at once, but with the
 * next one, as one signal. If that takes longer than a second, the next sweep sends the first alone. An end without a
 * next ticket sends all ends of the workflow at once.
 *
 * A lost signal costs only time, because a workflow also looks at its tickets now and then.
 *
 * @param ended in the order in which they ended
 */
export async function signalEnds(tx: TenantTx, ended: readonly EndSignal[]): Promise<void> {
  const byWorkflow = new Map<string, { ends: EndedTicket[]; held: boolean }>()
  for (const { id: ticketId, cause, end, next } of ended) {
    const workflowId = waiterOf(tx, cause)
    if (workflowId === null) continue
    const { ends, held } = byWorkflow.get(workflowId) ?? { ends: [], held: true }
    const isHeld = end.status === 'complete' && next !== null && waiterOf(tx, next) === workflowId
    byWorkflow.set(workflowId, { ends: [...ends, { ticketId, ...end }], held: held && isHeld })
  }
  const heldUntil = new Date(tx.now.getTime() + HELD_MS)
  const requests = [...byWorkflow].map(([workflowId, { ends, held }]) => ({
    request: { do: 'signal', workflowId, signal: TICKETS_ENDED, ends } as const,
    dueAt: held ? heldUntil : tx.now,
  }))
  await tellOfTickets(tx, requests)
}

/** The workflow that waits for a ticket with this cause; null if none does. */
function waiterOf({ tenantId }: TenantTx, cause: Cause): string | null {
  if (cause.by !== 'workflow' && cause.by !== 'watchdog') return null
  const { workflowId } = cause
  // An operator may name any workflow as a cause.
  const isOwn = tenantOfWorkflow(workflowId) === tenantId
  return isOwn && WAIT_FOR_TICKETS.has(workflowTypeOf(workflowId)) ? workflowId : null
}

/**
 * Drops changes queued behind tickets without success, and records an event for each. A SIM that stays unprovisioned
 * has nothing to change at month end. Call when tickets end without provisioning, with their SIMs locked.
 */
export async function dropChangesOfIdle(tx: TenantTx, simIds: readonly number[]): Promise<void> {
  const dropped = simIds.length === 0 ? [] : await dropIdleChanges(tx, simIds)
  if (dropped.length === 0) return
  const labels = await simLabels(tx, dropped)
  const events = dropped.map((id) => ({
    type: EventType.Connectivity,
    severity: EventSeverity.Info,
    title: `Change dropped: SIM ${labels.get(id) ?? id}`,
    description: `SIM ${labels.get(id) ?? id} stays unprovisioned: there is nothing to change at the end of the billing cycle.`,
  }))
  await insertEvents(tx, events)
}
