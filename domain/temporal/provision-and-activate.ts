/** Input, state and result of provision-and-activate. */

import type { Timeline } from './timeline.ts'

export interface ProvisionAndActivateInput {
  readonly tenantId: string
  readonly simId: number
  readonly poolId?: number
  readonly tariffId?: number
  readonly tag?: string
  /** Id of the batch that it is started for. */
  readonly batchId?: string
}

export interface ProvisionAndActivateState extends Timeline {
  readonly step: 'checking' | 'provisioning' | 'activating' | 'compensating' | 'done'
  readonly provisionTicket: string | null
  readonly activateTicket: string | null
  readonly unassignTicket: string | null
}

export interface ProvisionAndActivateResult {
  readonly outcome: 'activated' | 'alreadyActive' | 'compensated' | 'cancelled' | 'failed'
  /** The failure: the step, its ticket, and the ticket's stable failure code and text. */
  readonly failure: {
    readonly step: string
    readonly ticketId: string | null
    readonly code: string
    readonly detail: string
  } | null
  readonly provisionTicket: string | null
  readonly activateTicket: string | null
  readonly unassignTicket: string | null
}

export const NO_TICKETS = { provisionTicket: null, activateTicket: null, unassignTicket: null }

/** The end of a run that has no result itself. */
export const failedEnd = (code: string, detail: string): ProvisionAndActivateResult => ({
  outcome: 'failed',
  failure: { step: 'check', ticketId: null, code, detail },
  ...NO_TICKETS,
})
