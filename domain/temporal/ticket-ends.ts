/** The end of a ticket, as signalled to the waiting workflow. */
import type { WorkflowType } from './ids.ts'

/** The end of a ticket. Code and text give the reason of a failure; empty if it completed. */
export interface TicketEnd {
  readonly status: 'complete' | 'failed' | 'cancelled'
  readonly code: string
  readonly detail: string
}

export interface EndedTicket extends TicketEnd {
  readonly ticketId: string
}

/** Signal to the workflow that opened tickets. Its only argument: the ended tickets, in that order. */
export const TICKETS_ENDED = 'ticketsEnded'

/** Types of workflow that wait for their tickets. Others get no signal. */
export const WAIT_FOR_TICKETS: ReadonlySet<WorkflowType | undefined> = new Set<WorkflowType>([
  'provision-and-activate',
  'suspend-on-overage',
  'undo-suspensions',
])

/** Codes of a request to the carrier that got no valid answer. The carrier has refused nothing. */
export const CARRIER_FAULTS = [
  'carrier_busy',
  'carrier_timeout',
  'carrier_unauthorized',
  'carrier_unavailable',
  'carrier_unreachable',
  'carrier_unreadable',
] as const
export type CarrierFault = (typeof CARRIER_FAULTS)[number]

/** Codes of a failed ticket that the carrier has not refused: our own. A carrier's code is never one of these. */
const OWN_CODES: ReadonlySet<string> = new Set([...CARRIER_FAULTS, 'sim_state_conflict', 'ticket_failed'])
/** Whether a code of a failed ticket, or of the carrier's answer, is one that only the service itself may give. */
export const isOwnCode = (code: string): boolean => OWN_CODES.has(code)

/** Whether the carrier has refused the ticket for good. Another ticket for the same would be refused too. */
export const isRefusal = ({ status, code }: Pick<TicketEnd, 'status' | 'code'>): boolean =>
  status === 'failed' && !isOwnCode(code)

export const COMPLETE: TicketEnd = { status: 'complete', code: '', detail: '' }

export const cancelledEnd = (ticketId: string): TicketEnd => ({
  status: 'cancelled',
  code: 'ticket_cancelled',
  detail: `ticket ${ticketId} was cancelled while it was pending`,
})
