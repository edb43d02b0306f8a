/** How runs are started: task queue, search attributes, and what Temporal's lists show about them. */
import { type WorkflowType, workflowTypeOf } from './ids.ts'
import type { MonthEndInput } from './month-end-reprovision.ts'
import type { ProvisionInBulkInput } from './provision-in-bulk.ts'

export const TASK_QUEUE = 'simherd'

/** Settings that go into the inputs of workflows. */
export interface WorkflowOptions {
  /** ISO 8601 duration from a cycle's end to its close. Shorter cycles than a day are closed without it. */
  readonly closeAfter: string
  /** How a month end is divided. Default: 500 SIMs a batch, 8 batches at once, 100 batches a run. */
  readonly batches?: Pick<MonthEndInput, 'pageSize' | 'parallel' | 'perRun'>
  /** How a batch of SIMs is divided. Default: 100 SIMs are read at a time, and 200 begun in a run. */
  readonly provisioning?: Pick<ProvisionInBulkInput, 'pageSize' | 'perRun'>
}

/** The subject of a run: the part of its input for filters of lists. */
export interface WorkflowSubject {
  readonly tenantId: string
  readonly simId?: number
  readonly poolId?: number
  readonly cycleKey?: string
  /** Batch of SIMs, for the run that processes it and for the runs that this run starts. */
  readonly batchId?: string
}

/** Search attributes, for filters of Temporal's lists and UI. */
export const SEARCH_ATTRIBUTES = {
  tenant: { name: 'SimherdTenant', type: 'KEYWORD' },
  simId: { name: 'SimId', type: 'INT' },
  poolId: { name: 'PoolId', type: 'INT' },
  cycle: { name: 'Cycle', type: 'KEYWORD' },
  batchId: { name: 'BatchId', type: 'KEYWORD' },
  state: { name: 'SimherdState', type: 'KEYWORD' },
} as const

/** One line for Temporal's lists: the subject of a run. */
const summaryOf = ({ simId, poolId, cycleKey, batchId }: WorkflowSubject): string =>
  [
    ...(simId === undefined ? [] : [`SIM ${simId}`]),
    ...(poolId === undefined ? [] : [`pool ${poolId}`]),
    ...(cycleKey === undefined ? [] : [`cycle ${cycleKey}`]),
    ...(batchId === undefined ? [] : [`batch ${batchId}`]),
  ].join(', ')

/** The purpose of each type of workflow, for readers of a run in Temporal's UI. */
const PURPOSE: Readonly<Record<WorkflowType, string>> = {
  'provision-and-activate':
    'Takes a SIM from Unprovisioned to Active by tickets. Undone where a step fails for good, or it is cancelled.',
  'provision-in-bulk': 'Takes the SIMs of a batch from Unprovisioned to Active, a run of its own for each.',
  'suspend-on-overage':
    'Suspends a SIM that is over its limit, and brings it back: with the renewal, or before. Cancelled, it leaves the SIM as it is.',
  'enforce-pool': 'Picks the SIMs to stop in a pool that is over its capacity, until the cycle ends.',
  'undo-suspensions': 'Brings back what one rule has suspended since a time.',
  'month-end-reprovision':
    'Ends a billing cycle: queued changes, SIMs that come back, the statement. Running it twice changes nothing.',
  'month-end-batch': 'Some of the SIMs of a month end.',
  'month-end-timer': 'Started when a billing cycle ends: has its month end run, those left out before it first.',
}

/** Markdown text: the purpose of a run, and where to find more about it. */
function purposeOf(workflowId: string): string {
  const type = workflowTypeOf(workflowId)
  return `${type === undefined ? '' : `${PURPOSE[type]}\n\n`}Steps, tickets and waits: \`simherd workflows show ${workflowId}\``
}

/** Options to start a run. Runs are then listed and shown alike, whether the service or another run starts them. */
export function startOf<T extends WorkflowSubject>(workflowId: string, input: T) {
  const { tenantId, simId, poolId, cycleKey, batchId } = input
  const { tenant, simId: sim, poolId: pool, cycle, batchId: batch } = SEARCH_ATTRIBUTES
  return {
    workflowId,
    taskQueue: TASK_QUEUE,
    args: [input] satisfies [T],
    memo: { input },
    staticSummary: summaryOf(input),
    staticDetails: purposeOf(workflowId),
    typedSearchAttributes: [
      { key: tenant, value: tenantId },
      ...(simId === undefined ? [] : [{ key: sim, value: simId }]),
      ...(poolId === undefined ? [] : [{ key: pool, value: poolId }]),
      ...(cycleKey === undefined ? [] : [{ key: cycle, value: cycleKey }]),
      ...(batchId === undefined ? [] : [{ key: batch, value: batchId }]),
    ],
  }
}
