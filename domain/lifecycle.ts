/**
 * Workflow ids, inputs, states, signals and queries: what the API, the worker and the workflows agree on.
 *
 * Imports nothing: enters the workflow bundle. Everything that crosses is plain JSON; instants are
 * ISO 8601 in UTC, durations ISO 8601 (`PT15M`), ids numbers. Workflows read no settings and no clock
 * of their own: the API puts cycle ends and durations into the input.
 */

export const WORKFLOW_TYPES = [
  'provision-and-activate',
  'suspend-on-overage',
  'enforce-pool',
  'month-end-reprovision',
  'month-end-plan',
  'month-end-timer',
] as const
export type WorkflowType = (typeof WORKFLOW_TYPES)[number]

/** Task queue of workflows and short activities. */
export const TASK_QUEUE = 'simherd'
/** Task queue of the activity that waits for tickets: many slots, so that a carrier's outage starves nothing else. */
export const WAITING_TASK_QUEUE = 'simherd-waiting'

export const provisionAndActivateId = (tenantId: string, simId: number) => `provision-and-activate:${tenantId}:${simId}`
export const suspendOnOverageId = (tenantId: string, simId: number, cycleKey: string) =>
  `suspend-on-overage:${tenantId}:${simId}:${cycleKey}`
export const enforcePoolId = (tenantId: string, poolId: number, cycleKey: string) =>
  `enforce-pool:${tenantId}:${poolId}:${cycleKey}`
export const monthEndId = (tenantId: string, cycleKey: string) => `month-end-reprovision:${tenantId}:${cycleKey}`
export const monthEndPlanId = (tenantId: string, cycleKey: string, n: number) =>
  `month-end-plan:${tenantId}:${cycleKey}:${n}`
export const monthEndTimerId = (tenantId: string) => `month-end-timer:${tenantId}`
/** Id of a tenant's Temporal Schedule. */
export const monthEndScheduleId = (tenantId: string) => `month-end:${tenantId}`

/** How often a waiting activity asks for a ticket, and how long it may take. */
export interface Waits {
  /** First and longest pause between two looks at a ticket. */
  readonly pollMin: string
  readonly pollMax: string
}

export interface ProvisionAndActivateInput {
  readonly tenantId: string
  readonly simId: number
  readonly poolId?: number
  readonly tariffId?: number
  readonly tag?: string
  readonly waits: Waits
}
export interface ProvisionAndActivateState {
  readonly step: 'checking' | 'provisioning' | 'activating' | 'compensating' | 'done'
  readonly provisionTicket: string | null
  readonly activateTicket: string | null
  readonly unassignTicket: string | null
}
export interface ProvisionAndActivateResult {
  readonly outcome: 'activated' | 'alreadyActive' | 'compensated' | 'cancelled' | 'failed'
  /** What failed and why: the step, its ticket and the ticket's stable failure code and text. */
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

export interface SuspendOnOverageInput {
  readonly tenantId: string
  readonly simId: number
  readonly cycleKey: string
  readonly cycleEndsAt: string
  /** Name of the rule that asks; null when a person started it. */
  readonly rule: string | null
  readonly ruleFile: string | null
  /** How long the SIM may stay over its limit; `PT0S` suspends at once. */
  readonly grace: string
  /** `renewal`: comes back with the next cycle. `manual`: stays until a person acts. */
  readonly until: 'renewal' | 'manual'
  readonly waits: Waits
}
export interface SuspendOnOverageState {
  readonly phase: 'idle' | 'grace' | 'suspending' | 'suspended' | 'activating' | 'ended'
  /** End of the grace period; null when none runs. */
  readonly graceEndsAt: string | null
  readonly suspendTickets: readonly string[]
  readonly activateTickets: readonly string[]
  /** Why it is in this phase. */
  readonly reason: string
}
export interface SuspendOnOverageResult {
  readonly outcome: 'renewed' | 'released' | 'resumed' | 'personActed' | 'manual' | 'cancelled' | 'failed'
  readonly suspended: number
  readonly broughtBack: number
  readonly failure: { readonly step: string; readonly code: string; readonly detail: string } | null
}
/** Signals of suspend-on-overage. */
export type SuspendSignal = 'overLimit' | 'cleared' | 'standDown' | 'personActed' | 'resume' | 'renewed'

export interface EnforcePoolInput {
  readonly tenantId: string
  readonly poolId: number
  readonly cycleKey: string
  readonly cycleEndsAt: string
  readonly rule: string
  readonly ruleFile: string
  readonly target: 'self' | 'largestExcess' | 'aboveShare' | 'all'
  readonly grace: string
  readonly until: 'renewal' | 'manual'
}
export interface EnforcePoolState {
  readonly armed: readonly number[]
  readonly rounds: number
  readonly over: boolean
  /** Whether all that may be stopped does not cover the overage. */
  readonly tooLittle: boolean
}
/** Signals of enforce-pool. */
export type EnforcePoolSignal = 'overLimit' | 'cleared' | 'standDown'

export interface MonthEndInput {
  readonly tenantId: string
  readonly cycleKey: string
  readonly cycleEndsAt: string
  /** How long after its end the cycle is closed. */
  readonly closeAfter: string
  readonly pageSize: number
  readonly parallel: number
  readonly waits: Waits
  /** Where a continued run goes on; absent on the first. */
  readonly progress?: MonthEndProgress
}
export interface MonthEndProgress {
  readonly step: 'waiting' | 'unassign' | 'move' | 'renew' | 'close' | 'done'
  readonly afterSimId: number
  readonly moved: number
  readonly unassigned: number
  readonly changesFailed: number
  readonly renewed: number
}
export interface MonthEndResult extends MonthEndProgress {
  /** False where the cycle had nothing to close but a row. */
  readonly statement: boolean
}
export interface MonthEndPlanInput {
  readonly tenantId: string
  readonly cycleKey: string
}
export interface MonthEndTimerInput {
  readonly tenantId: string
  /** Comes with the Schedule: it is fixed when the tenant is created. */
  readonly billingCycle: string
}

/** What the service asks Temporal to do after a commit. */
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
  | {
      readonly do: 'signal'
      readonly workflowId: string
      readonly signal: SuspendSignal | EnforcePoolSignal
    }
