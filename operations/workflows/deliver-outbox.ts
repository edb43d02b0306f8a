/** Sends the starts and signals of workflows that committed transactions have put into the outbox. */

import { ServiceError } from '../../domain/errors.ts'
import type { OutboxRequest, WorkflowRequest, WorkflowStart } from '../../domain/temporal/outbox.ts'
import { backoffMs } from '../../domain/time/backoff.ts'
import { claimWorkflowRequests, endWorkflowRequest, postponeWorkflowRequest } from '../../store/outbox.ts'
import { inPlatform, inTenant, type Store } from '../../store/tenancy.ts'
import { type FailedRun, failedRun, logFailedRun } from './failed-runs.ts'

/** The run that a start or signal found under a workflow id. */
export interface Met {
  readonly runId: string
  readonly status: string
}
/** Callbacks for what goes wrong. */
export interface RequestEars {
  readonly onRequestFailed: (workflowId: string, error: unknown) => void
  readonly onFailedRun: (met: FailedRun) => void
}

/** The part of the Temporal client that is needed here. */
export interface WorkflowDoor {
  /** Starts the workflow, if no run of its id is running and a new one is allowed. */
  readonly start: (request: WorkflowStart) => Promise<unknown>
  /** Starts the workflow if its id never ran, and signals it in any case. */
  readonly signalWithStart: (request: Extract<WorkflowRequest, { do: 'signalWithStart' }>) => Promise<Met>
  /** @throws ServiceError `workflow_not_running`, `workflow_not_found` */
  readonly signal: (workflowId: string, signal: string) => Promise<unknown>
  /** The latest run of a workflow id. */
  readonly look: (workflowId: string, tenantId: string) => Promise<Met>
}

const BATCH = 50
const LEASE_MS = 60_000
const PAUSES = { firstMs: 1000, longestMs: 60_000 }

/**
 * Carries out due requests until none is left, or until all of a batch fail. A failed request is retried later.
 *
 * Safe to run twice and concurrently: starts use fixed ids, and every signal states a condition ("over limit"), not a
 * step.
 */
export async function carryOutWorkflowRequests(
  store: Store,
  door: WorkflowDoor,
  { onRequestFailed, onFailedRun }: RequestEars,
): Promise<void> {
  for (;;) {
    const claimed = await inPlatform(store, (tx) =>
      claimWorkflowRequests(tx, BATCH, new Date(tx.now.getTime() + LEASE_MS)),
    )
    if (claimed.length === 0) return
    const ended = await Promise.all(
      claimed.map(async ({ id, tenantId, request, attempts }) => {
        try {
          const failed = await carryOut(door, tenantId, request)
          if (failed !== undefined) {
            await inTenant(store, tenantId, (tx) => logFailedRun(tx, failed))
            onFailedRun(failed)
          }
          await inPlatform(store, (tx) => endWorkflowRequest(tx, id))
          return true
        } catch (error) {
          onRequestFailed(request.workflowId, error)
          const pauseMs = backoffMs(attempts, PAUSES)
          await inPlatform(store, (tx) => postponeWorkflowRequest(tx, id, new Date(tx.now.getTime() + pauseMs)))
          return false
        }
      }),
    )
    if (!ended.includes(true)) return
  }
}

/** @returns the run, if it was to enforce a limit and has failed */
async function carryOut(door: WorkflowDoor, tenantId: string, request: OutboxRequest): Promise<FailedRun | undefined> {
  try {
    if (request.do === 'start') await door.start(request)
    else if (request.do === 'signal') await door.signal(request.workflowId, request.signal)
    else return failedRun(request, await door.signalWithStart(request))
  } catch (error) {
    // The run has ended, so there is nothing to signal.
    const ended = error instanceof ServiceError && ENDED.has(error.code)
    if (!ended) throw error
    if (error.code === 'workflow_not_running' && request.do === 'signal') {
      return failedRun(request, await door.look(request.workflowId, tenantId))
    }
  }
  return undefined
}

const ENDED: ReadonlySet<string> = new Set(['workflow_not_running', 'workflow_not_found'])
