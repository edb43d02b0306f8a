/** Activities of a batch: read its list, record its SIMs' outcomes, and look at runs that this run did not start. */
import { heartbeat } from '@temporalio/activity'
import {
  failedEnd,
  type ProvisionAndActivateResult,
  type ProvisionedSim,
} from '../domain/temporal/provision-and-activate.ts'
import type { BatchFailure, ProvisionInBulkResult } from '../domain/temporal/provision-in-bulk.ts'
import { withConcurrency } from '../domain/temporal/with-concurrency.ts'
import { type Batch, type BatchNotes, type BatchSim, provisionResult } from '../domain/tickets/bulk.ts'
import { bodyOf, type ServiceClient, unlessRefused } from './client.ts'

interface BatchRef {
  readonly tenantId: string
  readonly batchId: string
}

export interface BatchItem extends ProvisionedSim {
  /** Index in the list. */
  readonly index: number
}
interface ProvisionPage {
  readonly sims: readonly BatchItem[]
  readonly nextAfterIndex: number | null
}

/** How a run for a SIM of a batch has ended. */
export interface SimEnd extends ProvisionAndActivateResult {
  /** The run with its tickets, to look them up. Temporal gives a parent no result of a cancelled child. */
  readonly lookUp?: { readonly workflowId: string; readonly runId: string }
}
interface BatchNote extends BatchRef {
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
/** `end` is null for a run started elsewhere, or deleted by Temporal: then the SIM's state decides. */
interface EndedRun {
  readonly end: SimEnd | null
}

/** The latest run of a workflow id; undefined if Temporal has none. */
function latestRun({ internal }: ServiceClient, workflowId: string) {
  const run = bodyOf(internal.GET('/internal/workflows/{workflowId}', { params: { path: { workflowId } } }))
  return unlessRefused(new Set(['workflow_not_found']), run)
}

/** The body for the service, with the tickets looked up if necessary. */
async function toNote(client: ServiceClient, end: BatchNote['ended'][number]): Promise<BatchNotes['ended'][number]> {
  const { index, outcome, lookUp } = end
  const run = lookUp === undefined ? undefined : await latestRun(client, lookUp.workflowId)
  const found = run?.runId === lookUp?.runId ? provisionResult(run?.result) : null
  const reason = found?.failure ?? end.failure
  return {
    index,
    outcome,
    provisionTicket: found?.provisionTicket ?? end.provisionTicket,
    activateTicket: found?.activateTicket ?? end.activateTicket,
    unassignTicket: found?.unassignTicket ?? end.unassignTicket,
    step: reason?.step ?? null,
    code: reason?.code ?? null,
    detail: reason?.detail ?? null,
  }
}

export const batchActivities = (clientOf: (tenantId: string) => ServiceClient) => ({
  /** How many SIMs the batch has, and their counts by outcome so far. */
  async readBatch({ tenantId, batchId }: BatchRef): Promise<Pick<Batch, 'total' | 'counts'>> {
    const { internal } = clientOf(tenantId)
    const params = { path: { id: batchId } }
    const { total, counts } = await bodyOf(internal.GET('/internal/provision-batches/{id}', { params }))
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

  /** Ends the batch, and cancels SIMs not begun. Safe to run twice. @returns its counts without refused rows */
  async endBatch({ tenantId, batchId }: BatchRef): Promise<Omit<ProvisionInBulkResult, 'outcome'>> {
    const { internal } = clientOf(tenantId)
    const params = { path: { id: batchId } }
    const { batch, failures } = await bodyOf(internal.POST('/internal/provision-batches/{id}/end', { params }))
    const { refused, ...counts } = batch.counts
    return { total: batch.total - refused, counts, failures: failures.flatMap(toFailure) }
  },

  /** Looks at runs that this run of the batch did not start. @returns in their order; null while it runs */
  async lookAtSimRuns({ tenantId, runs }: SimRuns): Promise<readonly (EndedRun | null)[]> {
    const client = clientOf(tenantId)
    const found: (EndedRun | null)[] = []
    await withConcurrency([...runs.entries()], AT_ONCE, async ([n, run]) => {
      heartbeat()
      found[n] = await endOfRun(client, run)
    })
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
  if (runId === null) return { end: null }
  return { end: provisionResult(run.result) ?? failedEnd('workflow_stopped', `its workflow ended as ${run.status}`) }
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
