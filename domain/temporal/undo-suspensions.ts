/** Input, state and result of undo-suspensions. */

import type { Timeline } from './timeline.ts'
import type { Waits } from './waits.ts'

export interface UndoSuspensionsInput {
  readonly tenantId: string
  readonly rule: string
  /** What was suspended from here on. */
  readonly since: string
  /** And before: where nothing was said, when it was asked for. */
  readonly until: string
  /** SIMs that are worked through at once. */
  readonly pageSize: number
  /** Pages that one run works through before it continues as new. */
  readonly perRun: number
  readonly waits: Waits
}

export interface UndoSuspensionsResult {
  readonly outcome: 'done' | 'doneWithFailures' | 'cancelled'
  /** SIMs that the rule had suspended or was about to, when it began. */
  readonly found: number
  readonly done: number
  readonly failed: number
  /** The first 100, by SIM id. */
  readonly failures: readonly { readonly simId: number; readonly code: string; readonly detail: string }[]
}

export interface UndoSuspensionsState extends Timeline, Omit<UndoSuspensionsResult, 'outcome'> {
  readonly left: number
  /** SIMs a second, of late. */
  readonly ratePerSecond: number
  /** Null while it cannot be told. */
  readonly estimatedEndAt: string | null
  /** SIMs up to this one are behind it. */
  readonly afterSimId: number
}
