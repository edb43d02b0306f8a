/** Sends the starts and signals of workflows that committed transactions have put into the outbox. */

import { ServiceError } from '../../domain/errors.ts'
import type { OutboxRequest, TicketsEnded, WorkflowRequest, WorkflowStart } from '../../domain/temporal/outbox.ts'
import { TICKETS_ENDED } from '../../domain/temporal/ticket-ends.ts'
import { backoffMs } from '../../domain/time/backoff.ts'
import {
  claimWorkflowRequests,
  endWorkflowRequests,
  type OutboxRow,
  postponeWorkflowRequests,
} from '../../store/outbox.ts'
import { inPlatform, inTenant, type Store } from '../../store/tenancy.ts'
import { type FailedRun, failedRun, logFailedRun } from './failed-run.ts'

/** The run that a start or signal found under a workflow id. */
export interface MetRun {
  readonly runId: string
  readonly status: string
}
/** Callbacks for errors. */
export interface RequestEars {
  readonly onRequestFailed: (workflowId: string, error: unknown) => void
  readonly onFailedRun: (met: FailedRun) => void
}

/** The part of the Temporal client used here. */
export interface WorkflowDoor {
  /** Starts the workflow, if no run of its id is running and a new one is allowed. */
  readonly start: (request: WorkflowStart) => Promise<unknown>
  /** Starts the workflow if its id never ran, and signals it in any case. */
  readonly signalWithStart: (request: Extract<WorkflowRequest, { do: 'signalWithStart' }>) => Promise<MetRun>
  /** @throws ServiceError `workflow_not_running`, `workflow_not_found` */
  readonly signal: (workflowId: string, signal: string, args?: readonly unknown[]) => Promise<unknown>
  /** The latest run of a workflow id. */
  readonly look: (workflowId: string, tenantId: string) => Promise<MetRun>
}

const BATCH = 50
const LEASE_MS = 60_000
const PAUSES = { firstMs: 1000, longestMs: 60_000 }

/** Requests for one workflow, sent as one. */
interface Delivery {
  readonly ids: readonly number[]
  readonly tenantId: string
  readonly request: OutboxRequest
  /** Attempts so far: the most of any of the requests. */
  readonly attempts: number
}

/**
 * Carries out due requests until none is left, or until all of a batch fail. A failed request is retried later.
 *
 * Safe to run twice and concurrently: starts use fixed ids, and every signal states a condition ("over limit", "this
 * ticket has ended"), not a step.
 */
export async function carryOutWorkflowRequests(store: Store, door: WorkflowDoor, ears: RequestEars): Promise<void> {
  for (;;) {
    const claimed = await inPlatform(store, (tx) =>
      claimWorkflowRequests(tx, BATCH, new Date(tx.now.getTime() + LEASE_MS)),
    )
    if (claimed.length === 0) return
    const deliveries = joined(claimed)
    const sent = await Promise.all(deliveries.map((delivery) => deliver(store, door, delivery, ears)))
    await inPlatform(store, async (tx) => {
      const done = deliveries.flatMap(({ ids }, n) => (sent[n] === true ? ids : []))
      await endWorkflowRequests(tx, done)
      for (const [n, { ids, attempts }] of deliveries.entries()) {
        const until = new Date(tx.now.getTime() + backoffMs(attempts, PAUSES))
        if (sent[n] !== true) await postponeWorkflowRequests(tx, ids, until)
      }
    })
    if (!sent.includes(true)) return
  }
}

/** A delivery for each request. The ends of one workflow's tickets go together, in their order. */
function joined(rows: readonly OutboxRow[]): Delivery[] {
  const ends = Map.groupBy(
    rows.flatMap(({ request, ...row }) => (isOfTickets(request) ? [{ ...row, request }] : [])),
    ({ request }) => request.workflowId,
  )
  const others = rows.filter(({ request }) => !isOfTickets(request))
  return [
    ...others.map(({ id, ...row }) => ({ ids: [id], ...row })),
    ...[...ends.values()].flatMap((all) => {
      const [first] = all
      if (first === undefined) return []
      const request = { ...first.request, ends: all.flatMap(({ request: { ends: some } }) => some) }
      const attempts = Math.max(...all.map((row) => row.attempts))
      return { ids: all.map(({ id }) => id), tenantId: first.tenantId, request, attempts }
    }),
  ]
}

const isOfTickets = (request: OutboxRequest): request is TicketsEnded =>
  request.do === 'signal' && request.signal === TICKETS_ENDED

/** @returns false if it has to be tried again */
async function deliver(
  store: Store,
  door: WorkflowDoor,
  { tenantId, request }: Delivery,
  { onRequestFailed, onFailedRun }: RequestEars,
): Promise<boolean> {
  try {
    const failed = await carryOut(door, tenantId, request)
    if (failed !== undefined) {
      await inTenant(store, tenantId, (tx) => logFailedRun(tx, failed))
      onFailedRun(failed)
    }
    return true
  } catch (error) {
    onRequestFailed(request.workflowId, error)
    return false
  }
}

/** @returns the run, if it was to enforce a limit and has failed */
async function carryOut(door: WorkflowDoor, tenantId: string, request: OutboxRequest): Promise<FailedRun | undefined> {
  try {
    if (request.do === 'start') await door.start(request)
    else if (isOfTickets(request)) await door.signal(request.workflowId, request.signal, [request.ends])
    else if (request.do === 'signal') await door.signal(request.workflowId, request.signal)
    else return failedRun(request, await door.signalWithStart(request))
  } catch (error) {
    // The run has ended, so there is nothing to signal.
    const ended = error instanceof ServiceError && ENDED.has(error.code)
    if (!ended) throw error
    if (error.code === 'workflow_not_running' && request.do === 'signal' && !isOfTickets(request)) {
      return failedRun(request, await door.look(request.workflowId, tenantId))
    }
  }
  return undefined
}

const ENDED: ReadonlySet<string> = new Set(['workflow_not_running', 'workflow_not_found'])
