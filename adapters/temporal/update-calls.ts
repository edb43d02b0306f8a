/** Updates: requested changes that a running workflow accepts or refuses by its state, and returns a result for. */
import { type Client, WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError } from '@temporalio/client'
import { ApplicationFailure } from '@temporalio/common'
import { ServiceError } from '../../domain/errors.ts'

type OnRunning = <T>(workflowId: string, act: (client: Client) => Promise<T>) => Promise<T>

/** Failure type of an update whose run accepted it, but ended before it had a result. */
const ENDED = 'AcceptedUpdateCompletedWorkflow'

/** @param onRunning calls a workflow; if it is not running, throws whether it is unknown or has ended */
export const updateCalls = (onRunning: OnRunning) => ({
  update: (workflowId: string, name: string, args: object, updateId: string): Promise<object> =>
    onRunning(workflowId, async (client) => {
      try {
        return await client.workflow
          .getHandle(workflowId)
          .executeUpdate<object, [object]>(name, { args: [args], updateId })
      } catch (error) {
        throw refusalOf(error, workflowId, name)
      }
    }),
})

function refusalOf(error: unknown, workflowId: string, name: string): unknown {
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) {
    return new ServiceError(
      'unavailable',
      `no worker has answered update ${name} of workflow ${workflowId} in time: it may be taken yet; ask again with the same Idempotency-Key`,
      { cause: error },
    )
  }
  if (!(error instanceof WorkflowUpdateFailedError)) return error
  const { cause } = error
  if (cause instanceof ApplicationFailure && cause.type === ENDED) {
    return new ServiceError(
      'workflow_not_running',
      `workflow ${workflowId} has ended before it answered update ${name}`,
    )
  }
  return new ServiceError('update_refused', cause?.message ?? error.message, { cause: error })
}
