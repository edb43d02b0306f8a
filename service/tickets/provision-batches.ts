/**
 * Batches of SIMs to make Active. A batch is accepted as a whole or refused. The workflow provision-in-bulk does it.
 */
import { type ErrorCode, type FieldError, ServiceError } from '../../domain/errors.ts'
import { provisionInBulkId } from '../../domain/temporal/ids.ts'
import type { WorkflowOptions } from '../../domain/temporal/workflow-options.ts'
import type { Batch, BatchNotes, BatchRequest, BatchStarted } from '../../domain/workflows/provision-batch.ts'
import { noteChange } from '../../store/audit.ts'
import { requestWorkflows } from '../../store/outbox.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { batchTargets, checkDefaults } from './provision-targets.ts'
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
} from './rows/provision-batches.ts'

const PARALLEL = 50
/**
 * SIMs in one read of the list: some ten kilobytes of a workflow's history. SIMs in one run: about 1,000 events.
 *
 * Shorter runs mean more moments without new starts. But a worker that takes over a run reads all of its history. A
 * thousand events take a second on an idle machine, and several on a busy one. Temporal gives up after ten.
 */
const RUNS = { pageSize: 100, perRun: 200 } as const
/** The most rows that a refusal names. */
const MOST_ERRORS = 1000
/** The most failures that a batch's result lists. */
const MOST_FAILURES = 100

/**
 * Accepts a batch. Its list is fixed now; its workflow starts after the commit.
 *
 * @throws ServiceError `batch_refused` with the rows that cannot be provisioned, unless `skipInvalid` leaves them out;
 *   `pool_not_found`, `tariff_not_found`, `tariff_inactive` for the defaults
 */
export async function startBatch(tx: TenantTx, ask: BatchRequest, options: WorkflowOptions): Promise<BatchStarted> {
  const { skipInvalid } = ask
  const parallel = ask.parallel ?? PARALLEL
  await checkDefaults(tx, ask.defaults)
  const id = await insertBatch(tx, parallel)
  const refused = new Map<ErrorCode, number>()
  const errors: FieldError[] = []
  let total = 0
  for await (const sims of batchTargets(tx, ask)) {
    total += sims.length
    for (const { index, refusal } of sims) {
      if (refusal === null) continue
      refused.set(refusal.code, (refused.get(refusal.code) ?? 0) + 1)
      if (errors.length < MOST_ERRORS) errors.push({ pointer: `/sims/${index}`, ...refusal })
    }
    await keep(tx, id, sims, skipInvalid === true)
  }
  const refusals = [...refused].map(([code, count]) => ({ code, count })).sort((a, b) => (a.code < b.code ? -1 : 1))
  const count = refusals.reduce((sum, each) => sum + each.count, 0)
  if (count > 0 && skipInvalid !== true) {
    const why = refusals.map(({ code, count }) => `${code} ${count}`).join(', ')
    const detail = `${count} of ${total} rows cannot be provisioned, so none was: ${why}.`
    throw new ServiceError('batch_refused', detail, { errors })
  }
  const workflowId = provisionInBulkId(tx.tenantId, id)
  const input = { tenantId: tx.tenantId, batchId: id, parallel, ...(options.provisioning ?? RUNS) }
  await requestWorkflows(tx, [{ do: 'start', type: 'provision-in-bulk', workflowId, input }])
  await noteChange(tx, {
    subject: 'workflow',
    id: workflowId,
    before: null,
    after: { batchId: id, total, refused: count, parallel, defaults: ask.defaults ?? null },
  })
  return { id, workflowId, total, refused: count, refusals }
}

/** Stores a page of the list; not if the batch will be refused because of it. */
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
 * Stores the progress of a batch's SIMs, as its workflow reports it. Safe to repeat: the first outcome of a SIM stays.
 *
 * @throws ServiceError `batch_not_found`
 */
export async function noteBatch(tx: TenantTx, id: string, { started, ended }: BatchNotes): Promise<void> {
  if (!(await batchExists(tx, id))) throw noBatch(id)
  if (ended.length > 0) await noteEnded(tx, id, ended)
  if (started.length > 0) await noteStarted(tx, id, started)
}

/**
 * Ends a batch. SIMs not begun are cancelled. Safe to run twice.
 *
 * @returns the batch, and the first 100 SIMs that did not become Active
 * @throws ServiceError `batch_not_found`
 */
export async function closeBatch(tx: TenantTx, id: string) {
  if (!(await batchExists(tx, id))) throw noBatch(id)
  await endBatch(tx, id)
  return { batch: await batchOf(tx, id), failures: await failuresOf(tx, id, MOST_FAILURES) }
}
