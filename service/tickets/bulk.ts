/**
 * Bulk runs: one request of a person, for many SIMs.
 *
 *   tickets: plan (dry run)
 *            start: fixes the SIMs and puts the run on the work list → open-bulk-tickets.ts opens their tickets
 *            cancel: ends the run early
 *   batches: start: fixes the SIMs; accepted as a whole or refused → the workflow provision-in-bulk makes them Active
 *            note, close: what the workflow reports
 */

import { type ErrorCode, type FieldError, ServiceError } from '../../domain/errors.ts'
import { counted } from '../../domain/quantity.ts'
import type { WorkflowOptions } from '../../domain/temporal/start.ts'
import {
  type Batch,
  type BatchNotes,
  type BatchRequest,
  type BatchStarted,
  type BulkPlan,
  type BulkRequest,
  type BulkRunDetail,
  MOST_LISTED,
} from '../../domain/tickets/bulk.ts'
import { noteChange } from '../../store/audit.ts'
import { requestWorkflows } from '../../store/outbox.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { batchTargets, checkDefaults, refusalsOf, targetsOf } from './bulk-targets.ts'
import { cancelBatch } from './open-bulk-tickets.ts'
import { checkAssignment } from './open-ticket.ts'
import {
  type BulkOptions,
  dropWaiting,
  endBatch,
  hasPendingTickets,
  insertItems,
  insertRun,
  lockRun,
  type NewItem,
  type RunKind,
  releaseBulkRun,
  type SettledItem,
  settleItems,
} from './rows/bulk.ts'
import { failuresOf, readBulkRun, readProvisionBatch, runExists } from './rows/bulk-reads.ts'

const PARALLEL = 50
/**
 * SIMs in one read of the list: some ten kilobytes of a workflow's history. SIMs in one run: about 1,000 events.
 *
 * Shorter runs mean more moments without new starts. But a worker that takes over a run reads all of its history. A
 * thousand events take a second on an idle machine, and several on a busy one. Temporal gives up after ten.
 */
const RUNS = { pageSize: 100, perRun: 200 } as const
/** The most failures that a batch's result lists. */
const MOST_FAILURES = 100

type BulkOrder = Omit<BulkRequest, 'dryRun'>

/**
 * Plans a run as of now: which SIMs would get a ticket, which would not, and why. Changes nothing.
 *
 * @throws ServiceError `invalid_request`, `pool_not_found`, `tariff_not_found`, `tariff_inactive`, `tariff_needs_pool`,
 *   `tariff_has_no_effect`, `bulk_too_large`, `bulk_not_found`
 */
export async function planBulkTickets(tx: TenantTx, asked: BulkOrder): Promise<BulkPlan> {
  const options = await optionsOf(tx, asked)
  const touched: BulkPlan['touched'] = { count: 0, sims: [] }
  const refused: BulkPlan['refused'] = { count: 0, byCode: [], sims: [] }
  const byCode = new Map<ErrorCode, number>()
  for await (const targets of targetsOf(tx, asked.sims)) {
    for (const { index, simId, iccid, refusal } of await judgeTargets(tx, options, targets)) {
      if (refusal !== null) {
        refused.count += 1
        byCode.set(refusal.code, (byCode.get(refusal.code) ?? 0) + 1)
        if (refused.sims.length < MOST_LISTED) refused.sims.push({ index, simId, iccid, ...refusal })
      } else if (simId !== null && iccid !== null) {
        touched.count += 1
        if (touched.sims.length < MOST_LISTED) touched.sims.push({ index, simId, iccid })
      }
    }
  }
  refused.byCode = [...byCode].map(([code, count]) => ({ code, count })).sort((a, b) => (a.code < b.code ? -1 : 1))
  return { type: options.type, total: touched.count + refused.count, touched, refused }
}

/** Adds the refusals of SIMs that get no ticket now. */
async function judgeTargets(tx: TenantTx, options: BulkOptions, targets: readonly NewItem[]): Promise<NewItem[]> {
  const there = targets.flatMap(({ simId, refusal }) => (simId === null || refusal !== null ? [] : [simId]))
  const refusals = await refusalsOf(tx, options, there)
  return targets.map((target) => ({ ...target, refusal: target.refusal ?? refusals.get(target.simId ?? 0) ?? null }))
}

/**
 * Accepts a run. Its SIMs are fixed now; a worker opens their tickets.
 *
 * @returns the run
 * @throws ServiceError as `planBulkTickets`; `bulk_grown`
 */
export async function startBulkTickets(tx: TenantTx, asked: BulkOrder): Promise<BulkRunDetail> {
  const options = await optionsOf(tx, asked)
  const { expect = null } = asked
  const id = await insertRun(tx, options)
  let touched = 0
  for await (const targets of targetsOf(tx, asked.sims)) {
    // Refused for good: none of them gets a ticket when its turn comes, beyond those expected.
    const items = expect === null ? targets : await judgeTargets(tx, options, targets)
    touched += items.filter(({ refusal }) => refusal === null).length
    await insertItems(tx, id, items)
  }
  if (touched > (expect ?? touched))
    throw new ServiceError(
      'bulk_grown',
      `expect: got ${expect}, but ${counted(touched, 'SIM')} would get a ticket now.`,
    )
  await releaseBulkRun(tx, id)
  const run = await runOf(tx, id)
  await noteChange(tx, {
    subject: 'bulk-tickets',
    id,
    before: null,
    after: { ...options, total: run.total, refused: run.refused },
  })
  return run
}

/**
 * Drops the tickets that a run has not opened yet, and cancels its Pending tickets. One batch of them is cancelled now;
 * a worker cancels the others. Does nothing to a cancelled run.
 *
 * @returns the run
 * @throws ServiceError `bulk_not_found`, `bulk_ended`
 */
export async function cancelBulkTickets(tx: TenantTx, id: string): Promise<BulkRunDetail> {
  const locked = await lockRun(tx, id)
  if (locked === undefined) throw noRun('tickets', id)
  if (locked.state === 'cancelling' || locked.state === 'cancelled') return runOf(tx, id)
  if (locked.waiting === 0 && !(await hasPendingTickets(tx, id))) {
    throw new ServiceError('bulk_ended', `Nothing of the bulk run ${id} waits any more: there is nothing to cancel.`)
  }
  await dropWaiting(tx, id)
  await cancelBatch(tx, id)
  await noteChange(tx, {
    subject: 'bulk-tickets',
    id,
    before: { state: 'running', notYetOpened: locked.waiting },
    after: { state: 'cancelled', notYetOpened: 0 },
  })
  return runOf(tx, id)
}

/** @throws ServiceError `bulk_not_found` */
export async function runOf(tx: TenantTx, id: string): Promise<BulkRunDetail> {
  const run = await readBulkRun(tx, id)
  if (run === undefined) throw noRun('tickets', id)
  return run
}

/** @throws ServiceError `bulk_not_found`, `batch_not_found` if there is no run of this kind with this id */
export async function mustExist(tx: TenantTx, kind: RunKind, id: string): Promise<void> {
  if (!(await runExists(tx, kind, id))) throw noRun(kind, id)
}

const noRun = (kind: RunKind, id: string) =>
  kind === 'batch'
    ? new ServiceError('batch_not_found', `There is no batch ${id}.`)
    : new ServiceError('bulk_not_found', `There is no bulk run ${id}.`)

/**
 * The options that all tickets of a run share, checked against the type of the run.
 *
 * @throws ServiceError `invalid_request`, `pool_not_found`, `tariff_not_found`, `tariff_inactive`,
 *   `tariff_needs_pool`, `tariff_has_no_effect`, `bulk_not_found`
 */
async function optionsOf(tx: TenantTx, asked: BulkOrder): Promise<BulkOptions> {
  const { type, poolId = null, tariffId = null, tag = null, message = null } = asked
  const faults: FieldError[] = []
  if (type === 'send-sms' && message === null) faults.push({ pointer: '/message', detail: 'is required by send-sms' })
  if (type !== 'send-sms' && message !== null) faults.push({ pointer: '/message', detail: 'is only for send-sms' })
  if (type !== 'provision') {
    for (const [name, value] of Object.entries({ poolId, tariffId, tag })) {
      if (value !== null) faults.push({ pointer: `/${name}`, detail: 'is only for provision' })
    }
  }
  if (faults.length > 0) {
    const texts = faults.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; ')
    throw new ServiceError('invalid_request', `${texts}.`, { errors: faults })
  }
  await checkAssignment(tx, { poolId, tariffId }, tariffId)
  if ('run' in asked.sims) await mustExist(tx, 'tickets', asked.sims.run.id)
  return { type, poolId, tariffId, tag, message }
}

/**
 * Accepts a batch. Its list is fixed now; its workflow starts after the commit.
 *
 * @throws ServiceError `batch_refused` with the rows that cannot be provisioned, unless `skipInvalid` leaves them out;
 *   `pool_not_found`, `tariff_not_found`, `tariff_inactive` for the defaults
 */
export async function startBatch(tx: TenantTx, ask: BatchRequest, options: WorkflowOptions): Promise<BatchStarted> {
  const parallel = ask.parallel ?? PARALLEL
  await checkDefaults(tx, ask.defaults)
  const id = await insertRun(tx, { type: 'provision-and-activate', parallel })
  const errors: FieldError[] = []
  for await (const targets of batchTargets(tx, ask)) {
    await insertItems(tx, id, targets)
    const refused = targets.flatMap(({ index, refusal }) =>
      refusal === null ? [] : { pointer: `/sims/${index}`, ...refusal },
    )
    errors.push(...refused.slice(0, MOST_LISTED - errors.length))
  }
  const { workflowId, total, counts, refusals } = await batchOf(tx, id)
  const { refused } = counts
  if (refused > 0 && ask.skipInvalid !== true) {
    const why = refusals.map(({ code, count }) => `${code} ${count}`).join(', ')
    const detail = `${refused} of ${total} rows cannot be provisioned, so none was: ${why}.`
    throw new ServiceError('batch_refused', detail, { errors })
  }
  const input = { tenantId: tx.tenantId, batchId: id, parallel, ...(options.provisioning ?? RUNS) }
  await requestWorkflows(tx, [{ do: 'start', type: 'provision-in-bulk', workflowId, input }])
  await noteChange(tx, {
    subject: 'workflow',
    id: workflowId,
    before: null,
    after: { batchId: id, total, refused, parallel, defaults: ask.defaults ?? null },
  })
  return { id, workflowId, total, refused, refusals }
}

/** @throws ServiceError `batch_not_found` */
export async function batchOf(tx: TenantTx, id: string): Promise<Batch> {
  const batch = await readProvisionBatch(tx, id)
  if (batch === undefined) throw noRun('batch', id)
  return batch
}

/**
 * Stores the progress of a batch's SIMs, as its workflow reports it. Safe to repeat: the first outcome of a SIM stays.
 *
 * @throws ServiceError `batch_not_found`
 */
export async function noteBatch(tx: TenantTx, id: string, { started, ended }: BatchNotes): Promise<void> {
  await mustExist(tx, 'batch', id)
  await settleItems(tx, id, ended)
  const running = started.map((index): SettledItem => ({ index, outcome: 'running' }))
  await settleItems(tx, id, running)
}

/**
 * Ends a batch. SIMs not begun are cancelled. Safe to run twice.
 *
 * @returns the batch, and the first 100 SIMs that did not become Active
 * @throws ServiceError `batch_not_found`
 */
export async function closeBatch(tx: TenantTx, id: string) {
  await mustExist(tx, 'batch', id)
  await endBatch(tx, id)
  return { batch: await batchOf(tx, id), failures: await failuresOf(tx, id, MOST_FAILURES) }
}
