/** Waiting for the end of a ticket, with the choice to take it back. */
import { condition } from '@temporalio/workflow'
import type { TicketEnd, TicketRef } from '../../activities/tickets.ts'
import type { Waits } from '../../domain/temporal/waits.ts'
import { short, waiting } from './activities.ts'

export interface OpenTicket {
  readonly tenantId: string
  readonly ticketId: string
  readonly waits: Waits
}

/** How a wait for a ticket ended, and whether this run has taken the ticket back. */
export interface Waited<T> {
  readonly ended: T
  readonly withdrawn: boolean
}

/** Waits for something; false where it stopped waiting before. */
type Wait = (what: () => boolean) => Promise<boolean>

const asLongAsItTakes: Wait = async (what) => {
  await condition(what)
  return true
}

/**
 * Waits until a ticket has ended.
 *
 * @param withdraw as soon as it holds, the ticket is cancelled if it is still Pending; one that is
 *   Processing is waited for all the same, because the carrier may have acted already
 */
export const endOfTicket = async (ticket: OpenTicket, withdraw: () => boolean): Promise<TicketEnd> =>
  (await orWithdrawn(waiting.awaitTicket(ticket), ticket, withdraw)).ended

/**
 * The same around an activity that waits for the ticket's end, whatever else it does.
 *
 * @param wait where it stops waiting the ticket is cancelled too
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
