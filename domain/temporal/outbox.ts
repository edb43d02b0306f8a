/** Requests to Temporal that the service makes after a commit. */

import type { EnforcePoolInput } from './enforce-pool.ts'
import type { ProvisionInBulkInput } from './provision-in-bulk.ts'
import type { EnforcePoolSignal, SuspendSignal } from './signals.ts'
import type { SuspendOnOverageInput } from './suspend-on-overage.ts'
import type { EndedTicket, TICKETS_ENDED } from './ticket-ends.ts'

/** A request to Temporal after a commit: a start or a signal. */
export type OutboxRequest = WorkflowRequest | WorkflowStart | TicketsEnded

/** Tells a workflow that tickets which it has opened have ended. */
export interface TicketsEnded {
  readonly do: 'signal'
  readonly workflowId: string
  readonly signal: typeof TICKETS_ENDED
  readonly ends: readonly EndedTicket[]
}

export interface WorkflowStart {
  readonly do: 'start'
  readonly type: 'provision-in-bulk'
  readonly workflowId: string
  readonly input: ProvisionInBulkInput
}

/** Signals to the workflows of enforcement, with or without a start. */
export type WorkflowRequest =
  | {
      readonly do: 'signalWithStart'
      readonly type: 'suspend-on-overage'
      readonly workflowId: string
      readonly input: SuspendOnOverageInput
      readonly signal: SuspendSignal
    }
  | {
      readonly do: 'signalWithStart'
      readonly type: 'enforce-pool'
      readonly workflowId: string
      readonly input: EnforcePoolInput
      readonly signal: EnforcePoolSignal
    }
  | { readonly do: 'signal'; readonly workflowId: string; readonly signal: SuspendSignal | EnforcePoolSignal }
