/** Tells workflows that their tickets have ended, in the transaction that ends them. */
import { tenantOfWorkflow, workflowTypeOf } from '../../domain/temporal/ids.ts'
import type { OutboxRequest } from '../../domain/temporal/outbox.ts'
import { type EndedTicket, TICKETS_ENDED, type TicketEnd, WAIT_FOR_TICKETS } from '../../domain/temporal/ticket-ends.ts'
import { requestWorkflows } from '../../store/outbox.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import type { TicketRecord } from '../../store/tickets/tickets.ts'

type Ended = Pick<TicketRecord, 'id' | 'cause'> & { readonly end: TicketEnd }

/**
 * Puts a signal into the outbox for each workflow that waits for one of these tickets. One statement, however many
 * there are; none for tickets that no workflow waits for.
 *
 * A signal that is lost costs time and nothing else, because a workflow also looks at its tickets now and then.
 *
 * @param ended in the order in which they ended
 */
export async function signalEnds(tx: TenantTx, ended: readonly Ended[]): Promise<void> {
  const byWorkflow = new Map<string, EndedTicket[]>()
  for (const { id: ticketId, cause, end } of ended) {
    if (cause.by !== 'workflow' && cause.by !== 'watchdog') continue
    const { workflowId } = cause
    // An operator may name any workflow as a cause.
    if (tenantOfWorkflow(workflowId) !== tx.tenantId || !WAIT_FOR_TICKETS.has(workflowTypeOf(workflowId))) continue
    byWorkflow.set(workflowId, [...(byWorkflow.get(workflowId) ?? []), { ticketId, ...end }])
  }
  const requests = [...byWorkflow].map(
    ([workflowId, ends]): OutboxRequest => ({ do: 'signal', workflowId, signal: TICKETS_ENDED, ends }),
  )
  await requestWorkflows(tx, requests)
}
