/** Batches of SIMs to take to Active: taken on whole or not at all, worked off by the workflow provision-in-bulk. */
import { type ErrorCode, type FieldError, ServiceError } from '../../domain/errors.ts'
import { provisionInBulkId } from '../../domain/temporal/ids.ts'
import type { Batch, BatchNotes, BatchRequest, BatchStarted } from '../../domain/workflows/provision-batch.ts'
import { noteChange } from '../../store/audit.ts'
import { requestWorkflows } from '../../store/outbox.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import {
  batchExists,
  endBatch,
  failuresOf,
  insertBatch,
  insertBatchSims,
  type NewBatchSim,
  noteEnded,
  noteStarted,
  readBatch,
} from '../../store/workflows/provision-batches.ts'
import type { WorkflowOptions } from './inputs.ts'
import { batchTargets, checkDefaults } from './provision-targets.ts'

const PARALLEL = 50
/**
 * SIMs of one read of the list, some ten kilobytes of a workflow's history; and of one run, some 1,000 events. Between two
 * runs nothing begins for a moment, but whoever takes a run over reads all of its history: a second for a thousand events on
 * an idle machine, several on a busy one, and Temporal gives up on a worker that takes ten.
 */
const RUNS = { pageSize: 100, perRun: 200 } as const
/** Rows that a refusal names. */
const MOST_TOLD = 1000
/** Failures that a batch's result lists. */
const MOST_FAILURES = 100

/**
 * Takes a batch on: its list is fixed now, its workflow starts after the commit.
 *
 * @throws ServiceError `batch_refused` with the rows that cannot be, unless they are to be left out; `pool_not_found`,
 *   `tariff_not_found`, `tariff_inactive` of the defaults
 */
export async function startBatch(tx: TenantTx, ask: BatchRequest, options: WorkflowOptions): Promise<BatchStarted> {
  const { skipInvalid } = ask
  const parallel = ask.parallel ?? PARALLEL
  await checkDefaults(tx, ask.defaults)
  const id = await insertBatch(tx, parallel)
  const refused = new Map<ErrorCode, number>()
  const told: FieldError[] = []
  let total = 0
  for await (const sims of batchTargets(tx, ask)) {
    total += sims.length
    for (const { index, refusal } of sims) {
      if (refusal === null) continue
      refused.set(refusal.code, (refused.get(refusal.code) ?? 0) + 1)
      if (told.length < MOST_TOLD) told.push({ pointer: `/sims/${index}`, ...refusal })
    }
    await keep(tx, id, sims, skipInvalid === true)
  }
  const refusals = [...refused].map(([code, count]) => ({ code, count })).sort((a, b) => (a.code < b.code ? -1 : 1))
  const count = refusals.reduce((sum, each) => sum + each.count, 0)
  if (count > 0 && skipInvalid !== true) {
    const why = refusals.map(({ code, count }) => `${code} ${count}`).join(', ')
    const detail = `${count} of ${total} rows cannot be provisioned, so none was: ${why}.`
    throw new ServiceError('batch_refused', detail, { errors: told })
  }
  const workflowId = provisionInBulkId(tx.tenantId, id)
  const input = {
    tenantId: tx.tenantId,
    batchId: id,
    parallel,
    ...(options.provisioning ?? RUNS),
    waits: options.waits,
  }
  await requestWorkflows(tx, [{ do: 'start', type: 'provision-in-bulk', workflowId, input }])
  await noteChange(tx, {
    subject: 'workflow',
    id: workflowId,
    before: null,
    after: { batchId: id, total, refused: count, parallel, defaults: ask.defaults ?? null },
  })
  return { id, workflowId, total, refused: count, refusals }
}

/** A list that will be refused needs no rows. */
async function keep(tx: TenantTx, id: string, sims: readonly NewBatchSim[], skipInvalid: boolean): Promise<void> {
  if (skipInvalid || sims.every(({ refusal }) => refusal === null)) await insertBatchSims(tx, id, sims)
}

/** @throws ServiceError `batch_not_found` */
export async function batchOf(tx: TenantTx, id: string): Promise<Batch> {
  const batch = await readBatch(tx, id)
  if (batch === undefined) throw noBatch(id)
  return batch
}

export const noBatch = (id: string) => new ServiceError('batch_not_found', `There is no batch ${id}.`)

/**
 * Keeps what the workflow tells of its SIMs. Safe to say again: what has ended stays as it was told first.
 *
 * @throws ServiceError `batch_not_found`
 */
export async function noteBatch(tx: TenantTx, id: string, { started, ended }: BatchNotes): Promise<void> {
  if (!(await batchExists(tx, id))) throw noBatch(id)
  if (ended.length > 0) await noteEnded(tx, id, ended)
  if (started.length > 0) await noteStarted(tx, id, started)
}

/**
 * Ends a batch: SIMs that were not begun are cancelled. Safe to run twice.
 *
 * @returns the batch, and the first 100 SIMs that did not become Active
 * @throws ServiceError `batch_not_found`
 */
export async function closeBatch(tx: TenantTx, id: string) {
  if (!(await batchExists(tx, id))) throw noBatch(id)
  await endBatch(tx, id)
  return { batch: await batchOf(tx, id), failures: await failuresOf(tx, id, MOST_FAILURES) }
}
