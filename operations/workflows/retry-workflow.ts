/** Starting a workflow again that has failed. */
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { ServiceError } from '../../domain/errors.ts'
import { WORKFLOW_TYPES, type WorkflowType } from '../../domain/temporal/ids.ts'
import type { StartRequest, WorkflowInput } from '../../queues/temporal/client.ts'
import type { WorkflowRun } from '../../queues/temporal/read.ts'

/** Outcomes of a run that Temporal calls completed, after which what was asked for is not so. */
const FAILED_OUTCOMES: ReadonlySet<string> = new Set(['failed', 'compensated', 'cancelled', 'doneWithFailures'])

const Result = Type.Object({ outcome: Type.String() })
const outcomeOf = (result: unknown): string | null => (Value.Check(Result, result) ? result.outcome : null)

/** Whether a run has ended without what was asked for. */
export function hasFailed({ status, result }: Pick<WorkflowRun, 'status' | 'result'>): boolean {
  if (status !== 'completed') return status !== 'running'
  const outcome = outcomeOf(result)
  return outcome !== null && FAILED_OUTCOMES.has(outcome)
}
/** What every input has; the rest is handed on as it was. */
const Input = Type.Object({
  tenantId: Type.String(),
  simId: Type.Optional(Type.Integer()),
  poolId: Type.Optional(Type.Integer()),
  cycleKey: Type.Optional(Type.String()),
})

/**
 * The start that tries a run again: the same id, the same input.
 *
 * A suspension is told to take over what the run before has left: the SIM may be suspended already. A month end begins
 * at its first step; what is done is found done.
 *
 * @throws ServiceError `workflow_not_retryable` where it runs, has ended well, or its input is not known any more
 */
export function retryOf(run: Pick<WorkflowRun, 'workflowId' | 'type' | 'status' | 'input' | 'result'>): StartRequest {
  const { workflowId, input } = run
  const refuse = (why: string) => new ServiceError('workflow_not_retryable', `workflow ${workflowId} ${why}`)
  if (run.status === 'running') throw refuse('runs')
  if (!hasFailed(run)) {
    const outcome = outcomeOf(run.result)
    throw refuse(`has ended well${outcome === null ? '' : `: ${outcome}`}`)
  }
  const type = WORKFLOW_TYPES.find((known) => known === run.type)
  if (type === undefined) throw refuse(`is of type ${run.type}, which is not known here`)
  if (type === 'month-end-batch') throw refuse('is a part of a month end: start that again')
  // Every SIM of its list has its outcome: there is nothing left to begin.
  if (type === 'provision-in-bulk' && outcomeOf(run.result) !== null) {
    throw refuse('is through its list: start the SIMs that failed again by a batch of their own')
  }
  if (!Value.Check(Input, input)) throw refuse('does not show what it was started with: start it anew')
  return { type, workflowId, input: anew(type, input) }
}

/** Where the run before stood is not where the next one stands. */
function anew(type: WorkflowType, input: WorkflowInput): WorkflowInput {
  const begun = type === 'suspend-on-overage' ? { takeOver: true } : { carried: undefined }
  return { ...input, ...begun }
}
