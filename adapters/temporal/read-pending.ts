/** Finds out from Temporal why a run does not go on. */
import { type Client, WorkflowNotFoundError } from '@temporalio/client'
import type { temporal } from '@temporalio/proto'
import { withConcurrency } from '../../domain/temporal/with-concurrency.ts'
import type { WorkflowPending } from '../../domain/workflows/workflow.ts'
import { describeOfTenant, runStatusOf } from './read-run.ts'

type PendingActivity = WorkflowPending['activities'][number]
type Fault = NonNullable<PendingActivity['lastFailure']>

type Timestamp = { readonly seconds?: unknown; readonly nanos?: number | null } | null | undefined
const msOf = (at: Timestamp): number | undefined =>
  at == null ? undefined : Number(at.seconds ?? 0) * 1000 + Math.floor((at.nanos ?? 0) / 1e6)
const instantOf = (at: Timestamp): string | null => {
  const ms = msOf(at)
  return ms === undefined || ms === 0 ? null : new Date(ms).toISOString()
}

/** PendingActivityState of the server's API: a worker has the attempt, even if its cancellation was requested. */
const STARTED = 2
const CANCEL_REQUESTED = 3

/** Failures carry their cause. The first one with a code gives the service's code. */
function faultOf(failure: temporal.api.failure.v1.IFailure | null | undefined): Fault | null {
  if (failure == null) return null
  const detail = failure.message || 'no text'
  if (failure.timeoutFailureInfo != null) return { code: 'timeout', detail }
  return { code: failure.applicationFailureInfo?.type || faultOf(failure.cause)?.code || 'internal_error', detail }
}

const toActivity = (activity: temporal.api.workflow.v1.IPendingActivityInfo): PendingActivity => ({
  activityId: activity.activityId ?? '',
  type: activity.activityType?.name ?? '',
  status: activity.state === STARTED || activity.state === CANCEL_REQUESTED ? 'running' : 'waiting',
  attempt: Math.max(1, activity.attempt ?? 1),
  scheduledAt: instantOf(activity.scheduledTime),
  startedAt: instantOf(activity.lastStartedTime),
  heartbeatAt: instantOf(activity.lastHeartbeatTime),
  nextAttemptAt: instantOf(activity.nextAttemptScheduleTime),
  lastFailure: faultOf(activity.lastFailure),
})

/** A poll lasts one minute and is then repeated. Ten seconds more are for the transport. */
const ASKED_WITHIN_MS = 70_000

/** Workers that have recently polled a task queue for workflow tasks. A killed worker counts for up to 70 s. */
async function workersOf(client: Client, taskQueue: string): Promise<number> {
  const { namespace } = client.options
  const { pollers } = await client.workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: taskQueue },
    taskQueueType: 1,
  })
  const since = Date.now() - ASKED_WITHIN_MS
  const alive = (pollers ?? []).filter(({ lastAccessTime }) => (msOf(lastAccessTime) ?? 0) > since)
  return new Set(alive.map(({ identity }) => identity)).size
}

/** Newest events to read. If a task failure stops a run, it is the last thing in the history. */
const NEWEST = 10

/** Why a worker could not go on with the workflow's own code. The history keeps only the first failure. */
async function taskFailure(client: Client, workflowId: string, runId: string): Promise<Fault | null> {
  const { namespace } = client.options
  const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({
    namespace,
    execution: { workflowId, runId },
    maximumPageSize: NEWEST,
  })
  for (const event of history?.events ?? []) {
    if (event.workflowTaskFailedEventAttributes != null) return faultOf(event.workflowTaskFailedEventAttributes.failure)
    if (event.workflowTaskTimedOutEventAttributes != null) {
      return { code: 'timeout', detail: 'the worker did not answer in time' }
    }
  }
  return null
}

/** @throws WorkflowNotFoundError, also for another tenant's */
export async function readPending(client: Client, workflowId: string, tenantId: string): Promise<WorkflowPending> {
  const run = await describeOfTenant(client, workflowId, tenantId)
  const { runId, raw } = run
  const { pendingActivities, pendingChildren, pendingWorkflowTask: task } = raw
  const attempt = Math.max(1, task?.attempt ?? 1)
  const [workers, lastFailure] = await Promise.all([
    workersOf(client, run.taskQueue),
    attempt > 1 ? taskFailure(client, workflowId, runId) : null,
  ])
  return {
    workflowId,
    runId,
    status: runStatusOf(run.status.name),
    workers,
    task: task == null ? null : { attempt, scheduledAt: instantOf(task.scheduledTime), lastFailure },
    activities: (pendingActivities ?? []).map(toActivity),
    children: (pendingChildren ?? []).map((child) => ({
      workflowId: child.workflowId ?? '',
      runId: child.runId ?? '',
      type: child.workflowTypeName ?? '',
    })),
  }
}

/** How many workflows are asked for at once. */
const AT_ONCE = 10

/** An activity with failed attempts. */
export interface Retry extends Pick<PendingActivity, 'activityId' | 'attempt' | 'lastFailure' | 'nextAttemptAt'> {
  readonly workflowId: string
  /** Name of the activity. */
  readonly activity: string
  readonly failedAt: string | null
}

/** The activities of some workflows with failed attempts. A workflow that has ended, or is another tenant's, has none. */
export async function readRetries(client: Client, workflowIds: readonly string[], tenantId: string): Promise<Retry[]> {
  const retries: Retry[] = []
  await withConcurrency(workflowIds, AT_ONCE, async (workflowId) => {
    try {
      const { raw, status } = await describeOfTenant(client, workflowId, tenantId)
      // A terminated run keeps them.
      const pendingActivities = runStatusOf(status.name) === 'running' ? raw.pendingActivities : []
      for (const pending of pendingActivities ?? []) {
        const { type: activity, activityId, attempt, lastFailure, nextAttemptAt } = toActivity(pending)
        const failedAt = instantOf(pending.lastAttemptCompleteTime)
        // Temporal numbers the attempt that runs, or is next.
        if (attempt > 1)
          retries.push({ workflowId, activityId, activity, attempt: attempt - 1, lastFailure, failedAt, nextAttemptAt })
      }
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error
    }
  })
  return retries
}
