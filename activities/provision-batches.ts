/** Activities of a batch: read its list, record its SIMs' outcomes, and look at runs that this run did not start. */
import { ApplicationFailure, heartbeat } from '@temporalio/activity'
import type { ProvisionAndActivateResult } from '../domain/temporal/provision-and-activate.ts'
import type { BatchFailure, ProvisionInBulkResult } from '../domain/temporal/provision-in-bulk.ts'
import type { Batch, BatchNotes, BatchSim } from '../domain/tickets/bulk.ts'
import { bodyOf, type ServiceClient } from './client.ts'

export interface BatchRef {
  readonly tenantId: string
  readonly batchId: string
}

/** A SIM of a batch, with its new pool, tariff and tag. */
export interface BatchItem {
  /** Index in the list. */
  readonly index: number
  readonly simId: number
  readonly poolId?: number
  readonly tariffId?: number
  readonly tag?: string
}
export interface ProvisionPage {
  readonly sims: readonly BatchItem[]
  readonly nextAfterIndex: number | null
}

/** How a run for a SIM of a batch has ended. */
export interface SimEnd
  extends Pick<
    ProvisionAndActivateResult,
    'outcome' | 'failure' | 'provisionTicket' | 'activateTicket' | 'unassignTicket'
  > {
  /** The run with its tickets, to look them up. Temporal gives a parent no result of a cancelled child. */
  readonly lookUp?: { readonly workflowId: string; readonly runId: string }
}
export interface BatchNote extends BatchRef {
  readonly started: readonly number[]
  readonly ended: readonly (SimEnd & { readonly index: number })[]
}

export interface SimRun {
  readonly workflowId: string
  /** Null for a run started elsewhere: then only its end matters. */
  readonly runId: string | null
}
interface SimRuns {
  readonly tenantId: string
  readonly runs: readonly SimRun[]
}
/**
 * An ended run. `end` is null without a result: the run was started elsewhere, or Temporal has deleted it. Then the
 * SIM's state decides.
 */
export interface EndedRun {
  readonly end: SimEnd | null
}

const OUTCOMES = ['activated', 'alreadyActive', 'compensated', 'cancelled', 'failed'] as const

/** Parses a workflow's result, JSON in the interface's form. @returns null if there is none */
function resultOf(result: unknown): SimEnd | null {
  if (typeof result !== 'object' || result === null) return null
  const text = (name: string, of: object = result) => {
    const value: unknown = Reflect.get(of, name)
    return typeof value === 'string' ? value : null
  }
  const outcome = OUTCOMES.find((known) => known === text('outcome'))
  if (outcome === undefined) return null
  const failure: unknown = Reflect.get(result, 'failure')
  return {
    outcome,
    failure:
      typeof failure === 'object' && failure !== null
        ? {
            step: text('step', failure) ?? 'check',
            ticketId: text('ticketId', failure),
            code: text('code', failure) ?? 'internal_error',
            detail: text('detail', failure) ?? '',
          }
        : null,
    provisionTicket: text('provisionTicket'),
    activateTicket: text('activateTicket'),
    unassignTicket: text('unassignTicket'),
  }
}

/** The outcome of a stopped or broken run, which has no result. */
const stopped = (status: string): SimEnd => ({
  outcome: 'failed',
  failure: { step: 'check', ticketId: null, code: 'workflow_stopped', detail: `its workflow ended as ${status}` },
  provisionTicket: null,
  activateTicket: null,
  unassignTicket: null,
})

const isUnknown = (error: unknown): boolean =>
  error instanceof ApplicationFailure && error.type === 'workflow_not_found'

/** The latest run of a workflow id; undefined if Temporal has none. */
async function latestRun({ internal }: ServiceClient, workflowId: string) {
  try {
    return await bodyOf(internal.GET('/internal/workflows/{workflowId}', { params: { path: { workflowId } } }))
  } catch (error) {
    if (isUnknown(error)) return undefined
    throw error
  }
}

/** The body for the service, with the tickets looked up if necessary. */
async function toNote(client: ServiceClient, end: BatchNote['ended'][number]): Promise<BatchNotes['ended'][number]> {
  const { index, outcome, failure, provisionTicket, activateTicket, unassignTicket, lookUp } = end
  const tickets = { provisionTicket, activateTicket, unassignTicket }
  const run = lookUp === undefined ? undefined : await latestRun(client, lookUp.workflowId)
  const found = run?.runId === lookUp?.runId ? resultOf(run?.result) : null
  const reason = found?.failure ?? failure
  return {
    index,
    outcome,
    provisionTicket: found?.provisionTicket ?? tickets.provisionTicket,
    activateTicket: found?.activateTicket ?? tickets.activateTicket,
    unassignTicket: found?.unassignTicket ?? tickets.unassignTicket,
    step: reason?.step ?? null,
    code: reason?.code ?? null,
    detail: reason?.detail ?? null,
  }
}

export const batchActivities = (clientOf: (tenantId: string) => ServiceClient) => ({
  /** How many SIMs the batch has, and their counts by outcome so far. */
  async readBatch({ tenantId, batchId }: BatchRef): Promise<Pick<Batch, 'total' | 'counts'>> {
    const params = { path: { id: batchId } }
    const { total, counts } = await bodyOf(
      clientOf(tenantId).internal.GET('/internal/provision-batches/{id}', { params }),
    )
    return { total, counts }
  },

  /** Reads a page of the SIMs without an outcome, after `afterIndex` in the list. */
  async pageOfBatch(
    ask: BatchRef & { readonly afterIndex: number | null; readonly limit: number },
  ): Promise<ProvisionPage> {
    const { tenantId, batchId, afterIndex, limit } = ask
    const query = { open: true, limit, ...(afterIndex === null ? {} : { afterIndex }) }
    const params = { path: { id: batchId }, query }
    const page = await bodyOf(clientOf(tenantId).internal.GET('/internal/provision-batches/{id}/sims', { params }))
    return {
      sims: page.sims.flatMap(({ index, simId, poolId, tariffId, tag }) =>
        simId === null
          ? []
          : {
              index,
              simId,
              ...(poolId === null ? {} : { poolId }),
              ...(tariffId === null ? {} : { tariffId }),
              ...(tag === null ? {} : { tag }),
            },
      ),
      nextAfterIndex: page.nextAfterIndex,
    }
  },

  /** Makes the service store starts and outcomes of SIMs. Safe to run twice: the first outcome stays. */
  async noteBatch({ tenantId, batchId, started, ended }: BatchNote): Promise<void> {
    const client = clientOf(tenantId)
    const ends = []
    for (const end of ended) {
      heartbeat()
      ends.push(await toNote(client, end))
    }
    const params = { path: { id: batchId } }
    const body = { started: [...started], ended: ends }
    await bodyOf(client.internal.POST('/internal/provision-batches/{id}/outcomes', { params, body }))
  },

  /**
   * Ends the batch. SIMs not begun are cancelled. Safe to run twice.
   *
   * @returns its counts without refused rows, and its first failures
   */
  async endBatch({
    tenantId,
    batchId,
  }: BatchRef): Promise<Pick<ProvisionInBulkResult, 'total' | 'counts' | 'failures'>> {
    const params = { path: { id: batchId } }
    const { batch, failures } = await bodyOf(
      clientOf(tenantId).internal.POST('/internal/provision-batches/{id}/end', { params }),
    )
    const { refused, ...counts } = batch.counts
    return { total: batch.total - refused, counts, failures: failures.flatMap(toFailure) }
  },

  /**
   * Looks at runs for SIMs that this run of the batch did not start.
   *
   * @returns for each of them, in the same order: null while it runs
   */
  async lookAtSimRuns({ tenantId, runs }: SimRuns): Promise<readonly (EndedRun | null)[]> {
    const client = clientOf(tenantId)
    const found: (EndedRun | null)[] = []
    const rest = runs.entries()
    const takeNext = async () => {
      for (const [n, run] of rest) {
        heartbeat()
        found[n] = await endOfRun(client, run)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, takeNext))
    return found
  },
})

/** Reads under way at once. Each may wait for a worker. */
const AT_ONCE = 10

/** How a run has ended; null while it runs. */
async function endOfRun(client: ServiceClient, { workflowId, runId }: SimRun): Promise<EndedRun | null> {
  const run = await latestRun(client, workflowId)
  if (run === undefined || (runId !== null && run.runId !== runId)) return { end: null }
  if (run.status === 'running') return null
  return { end: runId === null ? null : (resultOf(run.result) ?? stopped(run.status)) }
}

function toFailure(sim: BatchSim): BatchFailure[] {
  const { index, simId, outcome, step, code, detail } = sim
  if (simId === null || (outcome !== 'failed' && outcome !== 'compensated')) return []
  const tickets: Readonly<Record<string, string | null>> = {
    provision: sim.provisionTicket,
    activate: sim.activateTicket,
    unassign: sim.unassignTicket,
  }
  return [{ index, simId, outcome, step, ticketId: tickets[step ?? ''] ?? null, code, detail }]
}
