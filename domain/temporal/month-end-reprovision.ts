/** Inputs, states, results and updates of month-end-reprovision, month-end-batch and month-end-timer. */

import type { Timeline } from './timeline.ts'

export interface MonthEndInput {
  readonly tenantId: string
  readonly cycleKey: string
  readonly cycleEndsAt: string
  /** How long after its end the cycle is closed, as an ISO 8601 duration. */
  readonly closeAfter: string
  /** SIMs in a batch, 1 to 500. */
  readonly pageSize: number
  /** Concurrency: batches under way at once. */
  readonly parallel: number
  /** Batches that one run starts before it continues as new. */
  readonly perRun: number
  /** State that a continued run takes over; absent in the first run. */
  readonly carried?: MonthEndCarried
}

/** Temporal updates that a running month end accepts. */
export interface MonthEndUpdates {
  /** Opens new tickets for failed changes that are still queued. Accepted until the cycle is closed. */
  readonly retryFailedChanges: Readonly<Record<string, never>>
}

/** Steps of a month end. In `settle` it waits for its tickets to end; after that it is in `close`. */
export type MonthEndStep = 'waiting' | 'unassign' | 'move' | 'renew' | 'settle' | 'close' | 'done'

/** Counts of a step's SIMs at one instant. `total` is the sum of `done`, `failed` and `left`. */
export interface WorkCounts {
  readonly total: number
  readonly done: number
  readonly failed: number
  readonly left: number
}

export interface StepFigures extends WorkCounts {
  /** SIMs done or failed a second since the step began; 0 while unknown. */
  readonly ratePerSecond: number
  /** Null while unknown, or if no SIM is left. */
  readonly estimatedEndAt: string | null
}

/** The steps that process SIMs. */
export type MonthEndWork = 'unassign' | 'move' | 'renew'

export interface MonthEndState extends Timeline {
  readonly step: MonthEndStep
  readonly progress: Readonly<Record<MonthEndWork, StepFigures>>
}

/** State that a continued run takes over. */
export interface MonthEndCarried {
  readonly step: MonthEndStep
  /** Within the step, SIMs up to this id have been begun. */
  readonly afterSimId: number
  readonly view: Timeline
  readonly looks: Readonly<Record<MonthEndWork, WorkLooks>>
  /** When the SIMs' workflows were first signalled about the renewal, in epoch milliseconds; null before that. */
  readonly renewedAt: number | null
  /** Whether the workflows of SIMs with a failed unassignment have been signalled too. */
  readonly renewedAgain: boolean
  readonly retries: number
  /** Batches that could not be processed. The month end does not close the cycle while there are any. */
  readonly broken: readonly string[]
}

/** First and latest counts of a step; instants in epoch milliseconds. */
export interface WorkLooks {
  readonly first: { readonly at: number; readonly ended: number } | null
  readonly last: WorkCounts & { readonly at: number }
}

export interface MonthEndResult {
  readonly moved: number
  readonly unassigned: number
  readonly changesFailed: number
  readonly renewed: number
  /** False if the cycle had nothing to close except its row. */
  readonly statement: boolean
}

/** A batch of a month end: SIMs with ids above `afterSimId`, up to and including `throughSimId`. */
export interface MonthEndBatchInput {
  readonly tenantId: string
  readonly cycleKey: string
  readonly kind: MonthEndWork
  readonly afterSimId: number
  readonly throughSimId: number
  readonly count: number
}

export interface MonthEndBatchState extends Timeline {
  readonly kind: MonthEndWork
  readonly total: number
  readonly opened: number
  readonly refused: number
  readonly signalled: number
}

/** Tickets opened and refused, and workflows signalled to resume their SIM. */
export type MonthEndBatchResult = Pick<MonthEndBatchState, 'opened' | 'refused' | 'signalled'>
export type RetryFailedResult = Omit<MonthEndBatchResult, 'signalled'>

/** Input of month-end-timer, started by a tenant's Schedule. */
export interface MonthEndTimerInput {
  readonly tenantId: string
  /** Given by the Schedule, because it is fixed when the tenant is created. */
  readonly billingCycle: string
  /** State that a continued run takes over. */
  readonly carried?: MonthEndTimerCarried
}

export interface MonthEndTimerCarried {
  /** Keys of the cycles with month ends still to run, in order. */
  readonly left: readonly string[]
  /** Whether the month end of the first of them has begun. It is not started again, should it have failed since. */
  readonly begun?: boolean
  /** The last 100 cycles with completed month ends. */
  readonly cycles: readonly { readonly cycle: string; readonly status: string }[]
  readonly failed: readonly string[]
}
