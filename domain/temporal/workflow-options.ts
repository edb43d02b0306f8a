import type { MonthEndInput } from './month-end-reprovision.ts'
import type { ProvisionInBulkInput } from './provision-in-bulk.ts'

/** Settings that go into the inputs of workflows. */
export interface WorkflowOptions {
  /** ISO 8601 duration from a cycle's end to its close. Shorter cycles than a day are closed without it. */
  readonly closeAfter: string
  /** How a month end is divided. Default: 500 SIMs a batch, 8 batches at once, 100 batches a run. */
  readonly batches?: Pick<MonthEndInput, 'pageSize' | 'parallel' | 'perRun'>
  /** How a batch of SIMs is divided. Default: 100 SIMs are read at a time, and 200 begun in a run. */
  readonly provisioning?: Pick<ProvisionInBulkInput, 'pageSize' | 'perRun'>
}
