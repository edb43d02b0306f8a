/** Tells workflows that their tickets have ended, in the transaction that ends them. */
import { tenantOfWorkflow, workflowTypeOf } from '../../domain/temporal/ids.ts'
import { type EndedTicket, TICKETS_ENDED, type TicketEnd, WAIT_FOR_TICKETS } from '../../domain/temporal/ticket-ends.ts'
import type { Cause } from '../../domain/tickets/ticket.ts'
import { tellOfTickets } from '../../store/outbox.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import type { TicketRecord } from './rows/tickets.ts'

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
  await tellOfTickets(
    tx,
    [...byWorkflow].map(([workflowId, { ends, held }]) => ({
      request: { do: 'signal', workflowId, signal: TICKETS_ENDED, ends },
      dueAt: held ? heldUntil : tx.now,
    })),
  )
}

/** The workflow that waits for a ticket with this cause; null if none does. */
function waiterOf({ tenantId }: TenantTx, cause: Cause): string | null {
  if (cause.by !== 'workflow' && cause.by !== 'watchdog') return null
  const { workflowId } = cause
  // An operator may name any workflow as a cause.
  const isOwn = tenantOfWorkflow(workflowId) === tenantId
  return isOwn && WAIT_FOR_TICKETS.has(workflowTypeOf(workflowId)) ? workflowId : null
}
