/** Waiting for the end of a ticket, with the choice to take it back. */
import { condition } from '@temporalio/workflow'
import type { TicketEnd } from '../activities/tickets.ts'
import type { Waits } from '../domain/lifecycle.ts'
import { short, waiting } from './calls.ts'

export interface OpenTicket {
  readonly tenantId: string
  readonly ticketId: string
  readonly waits: Waits
}

/**
 * Waits until a ticket has ended.
 *
 * @param withdraw as soon as it holds, the ticket is cancelled if it is still Pending; one that is
 *   Processing is waited for all the same, because the carrier may have acted already
 */
export async function endOfTicket(ticket: OpenTicket, withdraw: () => boolean): Promise<TicketEnd> {
  const end = waiting.awaitTicket(ticket)
  await Promise.race([end, condition(withdraw)])
  if (withdraw()) await short.cancelTicket({ tenantId: ticket.tenantId, ticketId: ticket.ticketId })
  return end
}
