/** Input, state and result of provision-in-bulk. */

import type { ProvisionAndActivateResult } from './provision-and-activate.ts'
import type { Timeline } from './timeline.ts'

export interface ProvisionInBulkInput {
  readonly tenantId: string
  readonly batchId: string
  /** Concurrency: most SIMs under way at once, 1 to 200. */
  readonly parallel: number
  /** SIMs of the batch's list read at once. */
  readonly pageSize: number
  /** SIMs that one run starts before it continues as new. */
  readonly perRun: number
}

/** Number of a batch's SIMs by outcome. The counts add up to the batch without its refused SIMs. */
export type BatchCounts = Readonly<Record<'waiting' | 'running' | ProvisionAndActivateResult['outcome'], number>>

export interface ProvisionInBulkState extends Timeline {
  readonly total: number
  readonly counts: BatchCounts
  /** SIMs without an end yet. */
  readonly left: number
  /** Recent rate: SIMs that end a second; 0 while unknown. */
  readonly ratePerSecond: number
  /** Null while unknown. */
  readonly estimatedEndAt: string | null
}

export interface ProvisionInBulkResult {
  readonly outcome: 'done' | 'doneWithFailures' | 'cancelled'
  readonly total: number
  readonly counts: BatchCounts
  /** SIMs that failed or were compensated: the first 100, in the order of the list. */
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
