/**
 * Bulk runs: one request of a person, for tickets on many SIMs.
 *
 *   plan (dry run)
 *   start: fixes the SIMs and puts the run on the work list → open-bulk-tickets.ts opens their tickets
 *   cancel: ends the run early
 */

import { type ErrorCode, type FieldError, ServiceError } from '../../domain/errors.ts'
import { type BulkPlan, type BulkRequest, type BulkRunDetail, MOST_LISTED } from '../../domain/tickets/bulk.ts'
import { noteChange } from '../../store/audit.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { refusalsOf, targetsOf } from './bulk-targets.ts'
import { cancelBatch } from './open-bulk-tickets.ts'
import { checkAssignment } from './open-ticket.ts'
import {
  type BulkOptions,
  dropWaiting,
  hasPendingTickets,
  insertItems,
  insertRun,
  lockRun,
  releaseRun,
} from './rows/bulk.ts'
import { readRun } from './rows/bulk-reads.ts'

type Requested = Omit<BulkRequest, 'dryRun'>

/**
 * Plans a run as of now: which SIMs would get a ticket, which would not, and why. Changes nothing.
 *
 * @throws ServiceError `invalid_request`, `pool_not_found`, `tariff_not_found`, `tariff_inactive`, `tariff_needs_pool`,
 *   `tariff_has_no_effect`, `bulk_too_large`
 */
export async function planBulkTickets(tx: TenantTx, asked: Requested): Promise<BulkPlan> {
  const options = await optionsOf(tx, asked)
  const touched: BulkPlan['touched'] = { count: 0, sims: [] }
  const refused: BulkPlan['refused'] = { count: 0, byCode: [], sims: [] }
  const byCode = new Map<ErrorCode, number>()
  for await (const targets of targetsOf(tx, asked.sims)) {
    const there = targets.flatMap(({ simId, refusal }) => (simId === null || refusal !== null ? [] : [simId]))
    const refusals = await refusalsOf(tx, options, there)
    for (const { index, simId, iccid, ...target } of targets) {
      const refusal = target.refusal ?? (simId === null ? undefined : refusals.get(simId))
      if (refusal !== undefined) {
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

/**
 * Accepts a run. Its SIMs are fixed now; a worker opens their tickets.
 *
 * @returns the run
 * @throws ServiceError as `planBulkTickets`
 */
export async function startBulkTickets(tx: TenantTx, asked: Requested): Promise<BulkRunDetail> {
  const options = await optionsOf(tx, asked)
  const id = await insertRun(tx, options)
  for await (const targets of targetsOf(tx, asked.sims)) {
    if (targets.length > 0) await insertItems(tx, id, targets)
  }
  await releaseRun(tx, id)
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
  if (locked === undefined) throw noBulkRun(id)
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
  const run = await readRun(tx, id)
  if (run === undefined) throw noBulkRun(id)
  return run
}

export const noBulkRun = (id: string) => new ServiceError('bulk_not_found', `There is no bulk run ${id}.`)

/**
 * The options that all tickets of a run share, checked against the type of the run.
 *
 * @throws ServiceError `invalid_request`, `pool_not_found`, `tariff_not_found`, `tariff_inactive`,
 *   `tariff_needs_pool`, `tariff_has_no_effect`
 */
async function optionsOf(tx: TenantTx, asked: Requested): Promise<BulkOptions> {
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
  if (poolId !== null || tariffId !== null) await checkAssignment(tx, { poolId, tariffId }, tariffId)
  return { type, poolId, tariffId, tag, message }
}
