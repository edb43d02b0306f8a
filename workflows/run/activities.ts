/** How workflows call activities, with the timeouts argued, and what they make of a failed one. */
import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  proxyActivities,
  rootCause,
  workflowInfo,
} from '@temporalio/workflow'
import type { Activities } from '../../activities/index.ts'
import { WAITING_TASK_QUEUE } from '../../domain/temporal/start.ts'

/**
 * Activities of one to three requests. 30 s: three times a request's own limit. Tried again for as
 * long as it takes, at most a minute apart: the service may be away for an hour, and nothing is lost.
 */
export const short = proxyActivities<Activities>({
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
})

/** Activities of one request that works on a whole estate: 10 minutes, a third of that for the request itself. */
export const slow = proxyActivities<Activities>({
  startToCloseTimeout: '10 minutes',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
})

/**
 * Activities that page or signal through many subjects: 10 minutes, and a heartbeat after each,
 * so that a killed worker is noticed after a minute.
 */
export const long = proxyActivities<Activities>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '1 minute',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
})

const WAITING = {
  taskQueue: WAITING_TASK_QUEUE,
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '30 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' },
} as const

/**
 * Activities that wait, on their own task queue. An hour is no limit to the wait: a new attempt goes on
 * where the last one stopped. The heartbeat finds a killed worker after half a minute.
 */
export const waiting = proxyActivities<Activities>(WAITING)

/** The same, for waits that a cancel ends: with its next heartbeat, and no run ends with one still under way. */
export const cancellable = proxyActivities<Activities>({
  ...WAITING,
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
})

/**
 * Idempotency key of a step: the same for each attempt and over continue-as-new, another in a later
 * run under the same workflow id.
 *
 * @param step names the step within the run, with an entity's id or a counter where it comes back
 */
export const stepKey = (step: string): string => {
  const { workflowId, firstExecutionRunId } = workflowInfo()
  return `${workflowId}/${firstExecutionRunId}/${step}`
}

/** Stable code and text of a failed activity. */
export function failureOf(error: unknown): { readonly code: string; readonly detail: string } {
  if (!(error instanceof ActivityFailure)) throw error
  const cause = error.cause
  if (cause instanceof ApplicationFailure) return { code: cause.type ?? 'internal_error', detail: cause.message }
  return { code: 'internal_error', detail: rootCause(error) ?? error.message }
}
