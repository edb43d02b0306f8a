/** Input, state and result of provision-and-activate. */

import type { Timeline } from './timeline.ts'

/** A SIM, with its new pool, tariff and tag. */
export interface ProvisionedSim {
  readonly simId: number
  readonly poolId?: number
  readonly tariffId?: number
  readonly tag?: string
}

export interface ProvisionAndActivateInput extends ProvisionedSim {
  readonly tenantId: string
  /** Id of the batch that it is started for. */
  readonly batchId?: string
}

type StepTickets = Readonly<Record<'provisionTicket' | 'activateTicket' | 'unassignTicket', string | null>>

export interface ProvisionAndActivateState extends Timeline, StepTickets {
  readonly step: 'checking' | 'provisioning' | 'activating' | 'compensating' | 'done'
}

export interface ProvisionAndActivateResult extends StepTickets {
  readonly outcome: 'activated' | 'alreadyActive' | 'compensated' | 'cancelled' | 'failed'
  /** The failure: the step, its ticket, and the ticket's stable failure code and text. */
  readonly failure: {
    readonly step: string
    readonly ticketId: string | null
    readonly code: string
    readonly detail: string
  } | null
}

export const NO_TICKETS: StepTickets = { provisionTicket: null, activateTicket: null, unassignTicket: null }

/** The end of a run that has no result itself. */
export const failedEnd = (code: string, detail: string): ProvisionAndActivateResult => ({
  outcome: 'failed',
  failure: { step: 'check', ticketId: null, code, detail },
  ...NO_TICKETS,
})
