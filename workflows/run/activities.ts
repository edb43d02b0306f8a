/** How workflows call activities: their timeouts, with reasons, and the meaning of a failure. */
import {
  ActivityFailure,
  ApplicationFailure,
  log,
  proxyActivities,
  rootCause,
  workflowInfo,
} from '@temporalio/workflow'
import type { Activities } from '../../activities/index.ts'
import type { ActionRequest } from '../../domain/enforcement/enforcement.ts'

/**
 * Activities of one to three requests. The timeout of 30 s is three times that of a request. Retried for as long as it
 * takes, at most a minute apart: the service may be away for an hour, and nothing is lost.
 */
export const short = proxyActivities<Activities>({
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
})

/** Activities of one request about a whole estate. 10 minutes; a third of that for the request itself. */
export const slow = proxyActivities<Activities>({
  startToCloseTimeout: '10 minutes',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
})

/**
 * Activities that page through many subjects or signal them. 10 minutes, with a heartbeat for each page or subject, so
 * that a killed worker is noticed after a minute.
 */
export const long = proxyActivities<Activities>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '1 minute',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
})

/**
 * The idempotency key of a step. It is the same for each attempt and after continue-as-new. A later run under the same
 * workflow id has another.
 *
 * @param step name of the step within the run. A step that recurs needs an entity's id or a counter in its name.
 */
export const stepKey = (step: string): string => {
  const { workflowId, firstExecutionRunId } = workflowInfo()
  return `${workflowId}/${firstExecutionRunId}/${step}`
}

/** The stable code and the text of a failed activity. @throws the given error if it is not of an activity */
export function failureOf(error: unknown): { readonly code: string; readonly detail: string } {
  if (!(error instanceof ActivityFailure)) throw error
  const cause = error.cause
  if (cause instanceof ApplicationFailure) return { code: cause.type ?? 'internal_error', detail: cause.message }
  return { code: 'internal_error', detail: rootCause(error) ?? error.message }
}

/**
 * Makes the service log an action and notify people of it, once per counter. If the service refuses the entry,
 * enforcement goes on all the same, and the refusal is in the worker's log.
 */
export async function logAction(tenantId: string, entry: ActionRequest): Promise<void> {
  try {
    await short.logAction({ tenantId, entry })
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error
    const { action, simId, poolId } = entry
    log.error('the service refuses a log entry', { action, simId, poolId, reason: error.cause?.message })
  }
}
