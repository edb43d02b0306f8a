/** Input, state and result of provision-in-bulk. */

import type { ProvisionAndActivateResult } from './provision-and-activate.ts'
import type { Timeline } from './timeline.ts'
import type { Waits } from './waits.ts'

export interface ProvisionInBulkInput {
  readonly tenantId: string
  readonly batchId: string
  /** Most SIMs under way at once, 1 to 200. */
  readonly parallel: number
  /** SIMs read at once of the batch's list. */
  readonly pageSize: number
  /** SIMs that one run starts before it continues as new. */
  readonly perRun: number
  readonly waits: Waits
}

/** SIMs of a batch by what has become of them: their sum is the batch. */
export type BatchCounts = Readonly<Record<'waiting' | 'running' | ProvisionAndActivateResult['outcome'], number>>

export interface ProvisionInBulkState extends Timeline {
  readonly total: number
  readonly counts: BatchCounts
  /** Those that have not ended. */
  readonly left: number
  /** SIMs that end in a second, of late; 0 where that cannot be told yet. */
  readonly ratePerSecond: number
  /** Null where that cannot be told yet. */
  readonly estimatedEndAt: string | null
}

export interface ProvisionInBulkResult {
  readonly outcome: 'done' | 'doneWithFailures' | 'cancelled'
  readonly total: number
  readonly counts: BatchCounts
  /** Of the SIMs that failed or were compensated, the first 100 of the list. */
  readonly failures: readonly BatchFailure[]
}

/** A SIM of a batch that did not become Active. */
export interface BatchFailure {
  readonly index: number
  readonly simId: number
  readonly outcome: 'failed' | 'compensated'
  readonly step: string | null
  readonly ticketId: string | null
  readonly code: string | null
  readonly detail: string | null
}
