/** Carrying out starts and signals of workflows that commits have asked for. */
import { ServiceError } from '../domain/errors.ts'
import type { OutboxRequest, WorkflowRequest, WorkflowStart } from '../domain/lifecycle.ts'
import { type Ground, inPlatform } from '../store/tenancy.ts'
import { claimWorkflowRequests, endWorkflowRequest, postponeWorkflowRequest } from '../store/workflow-outbox.ts'

/** The part of the Temporal client that is needed. */
export interface WorkflowDoor {
  /** Starts the workflow where its id does not run and may run. */
  readonly start: (request: WorkflowStart) => Promise<unknown>
  /** Starts the workflow where its id never ran, and signals it in any case. */
  readonly signalWithStart: (request: Extract<WorkflowRequest, { do: 'signalWithStart' }>) => Promise<unknown>
  /** @throws ServiceError `workflow_not_running`, `workflow_not_found` */
  readonly signal: (workflowId: string, signal: string) => Promise<unknown>
}

const BATCH = 50
const LEASE_MS = 60_000
const RETRY_MIN_MS = 1000
const RETRY_MAX_MS = 60_000

/**
 * Works off requests that are due, until none is. Safe to run twice and at once: starts go by fixed ids, and
 * every signal says a state ("over limit"), not a step.
 */
export async function carryOutWorkflowRequests(
  ground: Ground,
  door: WorkflowDoor,
  onFailed: (workflowId: string, error: unknown) => void,
): Promise<void> {
  for (;;) {
    const claimed = await inPlatform(ground, (tx) =>
      claimWorkflowRequests(tx, BATCH, new Date(tx.now.getTime() + LEASE_MS)),
    )
    if (claimed.length === 0) return
    const ended = await Promise.all(
      claimed.map(async ({ id, request, attempts }) => {
        try {
          await carryOut(door, request)
          await inPlatform(ground, (tx) => endWorkflowRequest(tx, id))
          return true
        } catch (error) {
          onFailed(request.workflowId, error)
          const pauseMs = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** (attempts - 1))
          await inPlatform(ground, (tx) => postponeWorkflowRequest(tx, id, new Date(tx.now.getTime() + pauseMs)))
          return false
        }
      }),
    )
    if (!ended.includes(true)) return
  }
}

async function carryOut(door: WorkflowDoor, request: OutboxRequest): Promise<void> {
  try {
    if (request.do === 'start') await door.start(request)
    else if (request.do === 'signalWithStart') await door.signalWithStart(request)
    else await door.signal(request.workflowId, request.signal)
  } catch (error) {
    // It has ended: there is nobody left to tell.
    const ended = error instanceof ServiceError && ENDED.has(error.code)
    if (!ended) throw error
  }
}

const ENDED: ReadonlySet<string> = new Set(['workflow_not_running', 'workflow_not_found'])
