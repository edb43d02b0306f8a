/** Waiting for the end of a ticket, with the choice to take it back. */
import { condition } from '@temporalio/workflow'
import type { TicketEnd, TicketRef } from '../activities/tickets.ts'
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
export const endOfTicket = (ticket: OpenTicket, withdraw: () => boolean): Promise<TicketEnd> =>
  orWithdrawn(waiting.awaitTicket(ticket), ticket, withdraw)

/** The same around an activity that waits for the ticket's end, whatever else it does. */
export async function orWithdrawn<T>(end: Promise<T>, ticket: TicketRef, withdraw: () => boolean): Promise<T> {
  await Promise.race([end, condition(withdraw)])
  if (withdraw()) await short.cancelTicket({ tenantId: ticket.tenantId, ticketId: ticket.ticketId })
  return end
}
