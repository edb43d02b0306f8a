/** Carrying out starts and signals of workflows that commits have asked for. */

import { ServiceError } from '../../domain/errors.ts'
import type { OutboxRequest, WorkflowRequest, WorkflowStart } from '../../domain/temporal/outbox.ts'
import { backoffMs } from '../../domain/time/backoff.ts'
import { claimWorkflowRequests, endWorkflowRequest, postponeWorkflowRequest } from '../../store/outbox.ts'
import { inPlatform, inTenant, type Store } from '../../store/tenancy.ts'
import { type FailedRun, failedRun, logFailedRun } from './failed-runs.ts'

/** The run of an id as a start or signal has met it. */
export interface Met {
  readonly runId: string
  readonly status: string
}
/** Who hears of what does not go well. */
export interface RequestEars {
  readonly onRequestFailed: (workflowId: string, error: unknown) => void
  readonly onFailedRun: (met: FailedRun) => void
}

/** The part of the Temporal client that is needed. */
export interface WorkflowDoor {
  /** Starts the workflow where its id does not run and may run. */
  readonly start: (request: WorkflowStart) => Promise<unknown>
  /** Starts the workflow where its id never ran, and signals it in any case. */
  readonly signalWithStart: (request: Extract<WorkflowRequest, { do: 'signalWithStart' }>) => Promise<Met>
  /** @throws ServiceError `workflow_not_running`, `workflow_not_found` */
  readonly signal: (workflowId: string, signal: string) => Promise<unknown>
  /** The latest run of an id. */
  readonly look: (workflowId: string, tenantId: string) => Promise<Met>
}

const BATCH = 50
const LEASE_MS = 60_000
const PAUSES = { firstMs: 1000, longestMs: 60_000 }

/**
 * Works off requests that are due, until none is. Safe to run twice and at once: starts go by fixed ids, and
 * every signal says a state ("over limit"), not a step.
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

/** @returns the run that was asked to enforce and has failed */
async function carryOut(door: WorkflowDoor, tenantId: string, request: OutboxRequest): Promise<FailedRun | undefined> {
  try {
    if (request.do === 'start') await door.start(request)
    else if (request.do === 'signal') await door.signal(request.workflowId, request.signal)
    else return failedRun(request, await door.signalWithStart(request))
  } catch (error) {
    // It has ended: there is nobody left to tell.
    const ended = error instanceof ServiceError && ENDED.has(error.code)
    if (!ended) throw error
    if (error.code === 'workflow_not_running' && request.do === 'signal') {
      return failedRun(request, await door.look(request.workflowId, tenantId))
    }
  }
  return undefined
}

const ENDED: ReadonlySet<string> = new Set(['workflow_not_running', 'workflow_not_found'])
