/** Ends tickets: complete, failed or cancelled. */
import { TicketStatus, TicketType } from '../../domain/codes.ts'
import { COMPLETE, cancelledEnd, isRefusal, type TicketEnd } from '../../domain/temporal/ticket-ends.ts'
import { noteRefused } from '../../store/outbox.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { noteMonthEnd } from './change-outcome.ts'
import { dropChangesOfIdle } from './drop-changes-of-idle.ts'
import { recordTicketEvents } from './record-ticket-events.ts'
import { writeTicketEnds } from './rows/batches.ts'
import type { TicketFailure, TicketRecord } from './rows/tickets.ts'
import { signalEnds } from './signal-ends.ts'

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
  const next = await writeTicketEnds(
    tx,
    ended.map(({ ticket, end, failure }) => ({ ticket, status: STATUS[end.status], failure })),
  )
  await noteRefused(
    tx,
    ended.flatMap(({ ticket, end }) => refusedRun(ticket, end)),
  )
  await noteMonthEnd(tx, ended)
  await recordTicketEvents(tx, ended)
  await signalEnds(
    tx,
    ended.map(({ ticket, end }) => ({ ...ticket, end, next: next.get(ticket.simId) ?? null })),
  )
  await dropChangesOfIdle(
    tx,
    ended.filter(({ end }) => end.status !== 'complete').map(({ ticket }) => ticket.simId),
  )
}

function endOf({ ticket, failure, isCancelled }: TicketEnding): TicketEnd {
  if (isCancelled) return cancelledEnd(ticket.id)
  return failure === null ? COMPLETE : { status: 'failed', code: failure.code, detail: failure.text }
}

/** The workflow that asked for a suspension on the watchdog's behalf, if the carrier has refused it for good. */
const refusedRun = ({ type, cause }: TicketRecord, end: TicketEnd): string[] =>
  type === TicketType.Suspend && cause.by === 'watchdog' && isRefusal(end) ? [cause.workflowId] : []
