/** Input, state and result of month-end-batch: some of the SIMs of a month end. */

import type { MonthEndWork } from './month-end-reprovision.ts'
import type { Timeline } from './timeline.ts'

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
