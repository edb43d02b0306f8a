/** Waits for the end of a ticket, with the option to cancel it. */
import { condition } from '@temporalio/workflow'
import type { TicketEnd, TicketRef } from '../../activities/tickets.ts'
import type { Waits } from '../../domain/temporal/waits.ts'
import { short, waiting } from './activities.ts'

export interface OpenTicket {
  readonly tenantId: string
  readonly ticketId: string
  readonly waits: Waits
}

/** How a wait for a ticket ended, and whether this run has cancelled the ticket. */
export interface Waited<T> {
  readonly ended: T
  readonly withdrawn: boolean
}

/** Waits for a condition; false if it stopped waiting before the condition was met. */
type Wait = (what: () => boolean) => Promise<boolean>

const asLongAsItTakes: Wait = async (what) => {
  await condition(what)
  return true
}

/**
 * Waits until a ticket has ended.
 *
 * @param withdraw once this is true, the ticket is cancelled if it is still Pending. A Processing ticket is waited for
 *   all the same, because the carrier may have acted already.
 */
export const endOfTicket = async (ticket: OpenTicket, withdraw: () => boolean): Promise<TicketEnd> =>
  (await orWithdrawn(waiting.awaitTicket(ticket), ticket, withdraw)).ended

/**
 * Like {@link endOfTicket}, for any activity that waits for the ticket's end.
 *
 * @param end the result of that activity
 * @param wait if it stops waiting, the ticket is cancelled too
 */
export async function orWithdrawn<T>(
  end: Promise<T>,
  { tenantId, ticketId }: TicketRef,
  withdraw: () => boolean,
  wait = asLongAsItTakes,
): Promise<Waited<T>> {
  let over = false
  const noted = () => {
    over = true
  }
  end.then(noted, noted)
  const woken = await wait(() => over || withdraw())
  const withdrawn = !over && (!woken || withdraw()) && (await short.cancelTicket({ tenantId, ticketId }))
  return { ended: await end, withdrawn }
}
