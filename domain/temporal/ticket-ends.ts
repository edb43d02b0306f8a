/** The end of a ticket, as a workflow that waits for it is told. */
import type { WorkflowType } from './ids.ts'

/** How a ticket ended. Code and text say why it did not complete; they are empty if it did. */
export interface TicketEnd {
  readonly status: 'complete' | 'failed' | 'cancelled'
  readonly code: string
  readonly detail: string
}

/** A ticket that has ended. */
export interface EndedTicket extends TicketEnd {
  readonly ticketId: string
}

/** Signal to the workflow that opened tickets. Its only argument: the tickets that have ended, in that order. */
export const TICKETS_ENDED = 'ticketsEnded'

/** Types of workflow that wait for tickets of their own. Others are not told. */
export const WAIT_FOR_TICKETS: ReadonlySet<WorkflowType | undefined> = new Set<WorkflowType>([
  'provision-and-activate',
  'suspend-on-overage',
  'undo-suspensions',
])

export const COMPLETE: TicketEnd = { status: 'complete', code: '', detail: '' }

export const cancelledEnd = (ticketId: string): TicketEnd => ({
  status: 'cancelled',
  code: 'ticket_cancelled',
  detail: `ticket ${ticketId} was cancelled while it was pending`,
})
