/** Input, state, result and updates of month-end-reprovision. */

import type { Timeline } from './timeline.ts'
import type { Waits } from './waits.ts'

export interface MonthEndInput {
  readonly tenantId: string
  readonly cycleKey: string
  readonly cycleEndsAt: string
  /** How long after its end the cycle is closed. */
  readonly closeAfter: string
  /** SIMs of a batch, 1 to 500. */
  readonly pageSize: number
  /** Batches under way at once. */
  readonly parallel: number
  /** Batches that one run starts before it continues as new. */
  readonly perRun: number
  readonly waits: Waits
  /** Where a continued run goes on; absent on the first. */
  readonly carried?: MonthEndCarried
}

/** What the month end of a cycle can be asked for while it runs: Temporal's updates. */
export interface MonthEndUpdates {
  /** Opens tickets again for what has failed and is still queued; until the cycle is closed. */
  readonly retryFailedChanges: Readonly<Record<string, never>>
}

export interface RetryFailedResult {
  /** Tickets opened, and changes that were refused again. */
  readonly opened: number
  readonly refused: number
}

/** A month end is settling while it waits for the ends of tickets, and in `close` from then on. */
export type MonthEndStep = 'waiting' | 'unassign' | 'move' | 'renew' | 'settle' | 'close' | 'done'

/** The SIMs of a step: `total` is the sum of `done`, `failed` and `left`. */
export interface StepFigures {
  readonly total: number
  readonly done: number
  readonly failed: number
  readonly left: number
  /** SIMs done or failed in a second since the step began; 0 where that cannot be told yet. */
  readonly ratePerSecond: number
  /** Null where that cannot be told yet, or nothing is left. */
  readonly estimatedEndAt: string | null
}

/** The steps that go over SIMs. */
export type MonthEndWork = 'unassign' | 'move' | 'renew'

export interface MonthEndState extends Timeline {
  readonly step: MonthEndStep
  readonly progress: Readonly<Record<MonthEndWork, StepFigures>>
}

/** What a continued run takes over. */
export interface MonthEndCarried {
  readonly step: MonthEndStep
  /** Within the step: SIMs up to this one have been begun. */
  readonly afterSimId: number
  readonly view: Timeline
  readonly looks: Readonly<Record<MonthEndWork, WorkLooks>>
  /** When SIMs were first told of the renewal, epoch milliseconds; null before. */
  readonly renewedAt: number | null
  /** Whether SIMs whose unassignment failed have been told of it too. */
  readonly renewedAgain: boolean
  readonly retries: number
  /** Batches that could not be worked off: the month end does not close over them. */
  readonly broken: readonly string[]
}

/** SIMs of a step as they stood. */
export interface WorkCounts {
  readonly total: number
  readonly done: number
  readonly failed: number
  readonly left: number
}

/** The first and the last look at a step; instants in epoch milliseconds. */
export interface WorkLooks {
  readonly first: { readonly at: number; readonly ended: number } | null
  readonly last: WorkCounts & { readonly at: number }
}

export interface MonthEndResult {
  readonly moved: number
  readonly unassigned: number
  readonly changesFailed: number
  readonly renewed: number
  /** False where the cycle had nothing to close but a row. */
  readonly statement: boolean
}
