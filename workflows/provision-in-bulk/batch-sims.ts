/**
 * One SIM of a batch: runs its provision-and-activate as a child, and waits for it even across continue-as-new.
 *
 * A child outlives the run that started it (ABANDON). So a batch can continue as new while some of its SIMs are stuck.
 * The next run looks at those by timer: they are few, and a signal of each end would cost every SIM a signal. Also
 * waits for a run that was started elsewhere. Then this batch's own run finds the result.
 */
import {
  CancelledFailure,
  ChildWorkflowFailure,
  type ChildWorkflowHandle,
  getExternalWorkflowHandle,
  startChild,
  TemporalFailure,
} from '@temporalio/workflow'
import type { BatchItem, SimEnd } from '../../activities/provision-batches.ts'
import { provisionAndActivateId } from '../../domain/temporal/ids.ts'
import {
  failedEnd,
  NO_TICKETS,
  type ProvisionAndActivateInput,
  type ProvisionAndActivateResult,
} from '../../domain/temporal/provision-and-activate.ts'
import type { ProvisionInBulkInput } from '../../domain/temporal/provision-in-bulk.ts'
import { startOf } from '../../domain/temporal/start.ts'
import type { Cancel } from '../run/cancellation.ts'
import type { Lookout } from './lookout.ts'

export interface UnderWay {
  readonly item: BatchItem
  /** Id of this batch's run for the SIM; null while there is none. */
  runId: string | null
  /** Whether the child is being started. In that moment the batch must not continue as new. */
  starting: boolean
}

export interface BatchOptions {
  readonly input: ProvisionInBulkInput
  readonly cancel: Cancel
  /** Resolves when the batch is cancelled. */
  readonly cancelled: Promise<void>
  readonly lookout: Lookout
}

/** The name of an error from a package that the bundle does not import. */
const ALREADY_STARTED = 'WorkflowExecutionAlreadyStartedError'

type ProvisionAndActivate = (input: ProvisionAndActivateInput) => Promise<ProvisionAndActivateResult>

const NOT_BEGUN: SimEnd = { outcome: 'cancelled', failure: null, ...NO_TICKETS }

/** Runs a SIM's workflow to its end, whether it has begun already or not. */
export async function untilEnd(way: UnderWay, options: BatchOptions): Promise<SimEnd> {
  const workflowId = provisionAndActivateId(options.input.tenantId, way.item.simId)
  for (;;) {
    if (way.runId !== null) {
      const run = { workflowId, runId: way.runId }
      const end = await orCancelled(options.lookout.endOf(run), run, options)
      if (end !== null) return end
      way.runId = null
    }
    if (options.cancel.requested) return NOT_BEGUN
    const child = await begin(workflowId, way, options.input)
    if (child !== null) {
      way.runId = child.firstExecutionRunId
      const run = { workflowId, runId: way.runId }
      return await orCancelled(endOf(child, run), run, options)
    }
    await othersEnd(workflowId, options)
  }
}

/** Starts the child. @returns null if a run started elsewhere is under way */
async function begin(
  workflowId: string,
  way: UnderWay,
  { tenantId, batchId }: ProvisionInBulkInput,
): Promise<ChildWorkflowHandle<ProvisionAndActivate> | null> {
  const { index: _, ...sim } = way.item
  way.starting = true
  try {
    return await startChild<ProvisionAndActivate>('provision-and-activate', {
      ...startOf(workflowId, { tenantId, ...sim, batchId }),
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      parentClosePolicy: 'ABANDON',
    })
  } catch (error) {
    if (error instanceof TemporalFailure && error.name === ALREADY_STARTED) return null
    throw error
  } finally {
    way.starting = false
  }
}

interface RunRef {
  readonly workflowId: string
  readonly runId: string
}

async function endOf(child: ChildWorkflowHandle<ProvisionAndActivate>, run: RunRef): Promise<SimEnd> {
  try {
    return await child.result()
  } catch (error) {
    if (!(error instanceof ChildWorkflowFailure)) throw error
    if (error.cause instanceof CancelledFailure) return { ...NOT_BEGUN, lookUp: run }
    return failedEnd('workflow_stopped', `its workflow was stopped: ${error.cause?.message ?? error.message}`)
  }
}

/** Waits for a run's end. Cancels the run as soon as the batch is cancelled, and still waits for its end. */
async function orCancelled<T>(end: Promise<T>, { workflowId, runId }: RunRef, options: BatchOptions): Promise<T> {
  await Promise.race([end, options.cancelled])
  if (options.cancel.requested) {
    // The run may have ended in the same moment; then there is nothing to cancel.
    await getExternalWorkflowHandle(workflowId, runId)
      .cancel()
      .catch(() => undefined)
    options.lookout.hurry()
  }
  return await end
}

/** Waits until no run of the id is under way, or the batch is cancelled. Does not cancel runs started elsewhere. */
async function othersEnd(workflowId: string, { cancelled, lookout }: BatchOptions): Promise<void> {
  const run = { workflowId, runId: null }
  await Promise.race([lookout.endOf(run), cancelled])
  lookout.forget(run)
}
