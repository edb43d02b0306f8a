/** Starts a failed workflow again. */
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import type { StartRequest } from '../../adapters/temporal/start-calls.ts'
import { ServiceError } from '../../domain/errors.ts'
import { WORKFLOW_TYPES, type WorkflowType } from '../../domain/temporal/ids.ts'
import type { WorkflowSubject } from '../../domain/temporal/start.ts'
import { whyNotRetried } from '../../domain/workflows/run-view.ts'
import type { WorkflowInfo } from '../../domain/workflows/workflow.ts'

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
  const why = whyNotRetried(run)
  if (why !== null) throw refuse(why)
  const type = WORKFLOW_TYPES.find((known) => known === run.type)
  if (type === undefined) throw refuse(`is of type ${run.type}, which is not known here`)
  if (!Value.Check(Input, input)) throw refuse('does not show what it was started with: start it anew')
  return { type, workflowId, input: anew(type, input) }
}

/** The input without the progress of the last run: the next run does not begin there. */
function anew(type: WorkflowType, input: WorkflowSubject): WorkflowSubject {
  const begun = type === 'suspend-on-overage' ? { takeOver: true } : { carried: undefined }
  return { ...input, ...begun }
}
