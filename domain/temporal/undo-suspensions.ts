/** Input, state and result of undo-suspensions. */

import type { Timeline } from './timeline.ts'

export interface UndoSuspensionsInput {
  readonly tenantId: string
  readonly rule: string
  /** Undoes suspensions from this instant on. */
  readonly since: string
  /** Undoes suspensions before this instant. The default is the instant of the request. */
  readonly until: string
  /** SIMs in a page, processed together. */
  readonly pageSize: number
  /** Pages that one run processes before it continues as new. */
  readonly perRun: number
}

export interface UndoSuspensionsResult {
  readonly outcome: 'done' | 'doneWithFailures' | 'cancelled'
  /** SIMs that the rule had suspended, or was about to suspend, when the workflow began. */
  readonly found: number
  readonly done: number
  readonly failed: number
  /** The first 100 failures, by SIM id. */
  readonly failures: readonly { readonly simId: number; readonly code: string; readonly detail: string }[]
}

export interface UndoSuspensionsState extends Timeline, Omit<UndoSuspensionsResult, 'outcome'> {
  readonly left: number
  /** Recent rate: SIMs a second. */
  readonly ratePerSecond: number
  /** Null while unknown. */
  readonly estimatedEndAt: string | null
  /** SIMs up to this id have been processed. */
  readonly afterSimId: number
}
