/** Starts a failed workflow again. */
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import type { StartRequest } from '../../adapters/temporal/start-calls.ts'
import { ServiceError } from '../../domain/errors.ts'
import { WORKFLOW_TYPES, type WorkflowType } from '../../domain/temporal/ids.ts'
import type { WorkflowSubject } from '../../domain/temporal/start.ts'
import type { WorkflowInfo } from '../../domain/workflows/workflow.ts'

/** Outcomes of a run completed for Temporal, but without success. */
const FAILED_OUTCOMES: ReadonlySet<string> = new Set(['failed', 'compensated', 'cancelled', 'doneWithFailures'])

const Result = Type.Object({ outcome: Type.String() })
const outcomeOf = (result: unknown): string | null => (Value.Check(Result, result) ? result.outcome : null)

/** Whether a run has ended without success. */
export function hasFailed({ status, result }: Pick<WorkflowInfo, 'status' | 'result'>): boolean {
  if (status !== 'completed') return status !== 'running'
  const outcome = outcomeOf(result)
  return outcome !== null && FAILED_OUTCOMES.has(outcome)
}
/** Fields common to inputs. Other fields are passed on unchanged. */
const Input = Type.Object({
  tenantId: Type.String(),
  simId: Type.Optional(Type.Integer()),
  poolId: Type.Optional(Type.Integer()),
  cycleKey: Type.Optional(Type.String()),
})

/**
 * The start that tries a run again, with the same id and input.
 *
 * A suspend-on-overage has to take over the state left by the last run: the SIM may be suspended already. A month end
 * begins at its first step, and skips finished work.
 *
 * @throws ServiceError `workflow_not_retryable` if the run is under way, has ended well or is part of a month end; if
 *   it is a batch with an outcome for each SIM; if its type or its input is not known
 */
export function retryOf(run: Pick<WorkflowInfo, 'workflowId' | 'type' | 'status' | 'input' | 'result'>): StartRequest {
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
  // Every SIM of the list has its outcome, so nothing is left to begin.
  if (type === 'provision-in-bulk' && outcomeOf(run.result) !== null) {
    throw refuse('is through its list: start the SIMs that failed again by a batch of their own')
  }
  if (!Value.Check(Input, input)) throw refuse('does not show what it was started with: start it anew')
  return { type, workflowId, input: anew(type, input) }
}

/** The input without the progress of the last run: the next run does not begin there. */
function anew(type: WorkflowType, input: WorkflowSubject): WorkflowSubject {
  const begun = type === 'suspend-on-overage' ? { takeOver: true } : { carried: undefined }
  return { ...input, ...begun }
}
