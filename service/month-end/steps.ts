/** The input of a month end's workflow, and the steps that the service does. The workflow decides their order. */

import type { ChangeKind, MonthEndBatches, MonthEndCounts } from '../../domain/month-end/month-end.ts'
import type { MonthEndInput } from '../../domain/temporal/month-end-reprovision.ts'
import type { WorkflowOptions } from '../../domain/temporal/start.ts'
import { type Cycle, cycleAt, nextCycle, parseBillingCycle, previousCycle } from '../../domain/time/cycle.ts'
import type { StartMonthEnd } from '../../domain/workflows/workflow.ts'
import { noteChange } from '../../store/audit.ts'
import { inTenant, type Store, type TenantTx } from '../../store/tenancy.ts'
import { cycleNamed, endedCycle, openInSlices, tenantSettings } from '../usage/rows/cycles.ts'
import { openCycle } from '../usage/rows/open-cycle.ts'
import { type BatchQuery, batchesOf, countChanges, countRenewals, type StepCounts } from './rows/changes.ts'
import { findCycle } from './rows/progress.ts'

/**
 * The SIMs not begun in a step of a cycle's month end, in batches.
 *
 * @throws ServiceError `cycle_not_found`, `cycle_open`
 */
export async function monthEndBatches(
  tx: TenantTx,
  key: string,
  kind: ChangeKind | 'renew',
  query: BatchQuery,
): Promise<MonthEndBatches> {
  const batches = await batchesOf(tx, { cycle: await endedCycle(tx, key), kind }, query)
  const last = batches.at(-1)
  const more = batches.length === query.limit && last?.count === query.size
  return { batches, nextAfterSimId: more ? last.throughSimId : null }
}

/**
 * Does the long part of {@link renewCycle}, in short transactions: opens the cycle for all SIMs.
 *
 * @throws ServiceError `cycle_not_found`, `cycle_open`
 */
export async function prepareRenewal(store: Store, tenantId: string, key: string): Promise<void> {
  const next = await inTenant(store, tenantId, (tx) => cycleAfter(tx, key))
  await openInSlices(store, tenantId, next, false)
}

/**
 * Opens the cycle after an ended one, unless it was opened before. Its ledger starts from zero, and all subjects are
 * evaluated again.
 *
 * @returns whether this call opened it
 * @throws ServiceError `cycle_not_found`, `cycle_open`
 */
export async function renewCycle(tx: TenantTx, key: string): Promise<{ readonly opened: boolean }> {
  const next = await cycleAfter(tx, key)
  const opened = await openCycle(tx, next)
  if (opened) await noteChange(tx, { subject: 'cycle', id: next.key, before: null, after: { openedAt: tx.now } })
  return { opened }
}

const cycleAfter = async (tx: TenantTx, key: string): Promise<Cycle> => {
  const ended = await endedCycle(tx, key)
  return nextCycle((await tenantSettings(tx)).billingCycle, ended)
}

const totalled = <T extends StepCounts>(counts: T, released = 0) => ({
  total: counts.queued + counts.open + counts.complete + counts.failed + released,
  ...counts,
})

/**
 * How far the month end of a cycle is. The counts of one step are consistent with each other.
 *
 * @throws ServiceError `cycle_not_found`
 */
export async function monthEndCounts(tx: TenantTx, key: string): Promise<MonthEndCounts> {
  const cycle = await cycleNamed(tx, key)
  const unassign = await countChanges(tx, { cycle, kind: 'unassign' })
  const move = await countChanges(tx, { cycle, kind: 'move' })
  const renewals = await countRenewals(tx, cycle)
  const closedAt = (await findCycle(tx, key))?.closedAt ?? null
  return {
    cycle: key,
    closedAt: closedAt?.toISOString() ?? null,
    unassign: totalled(unassign),
    move: totalled(move),
    changes: totalled({
      queued: unassign.queued + move.queued,
      open: unassign.open + move.open,
      complete: unassign.complete + move.complete,
      failed: unassign.failed + move.failed,
    }),
    renewals: totalled(renewals, renewals.released),
  }
}

/** Each batch is a transaction. More in parallel would only wait for each other. A run has about 1,000 events. */
const BATCHES = { pageSize: 500, parallel: 8, perRun: 100 } as const

const DAY_MS = 86_400_000

/**
 * The input of month-end-reprovision. Default cycle: the last ended one.
 *
 * @throws ServiceError `cycle_not_found`, `cycle_open`
 */
export async function monthEndInput(
  tx: TenantTx,
  ask: StartMonthEnd,
  options: WorkflowOptions,
): Promise<MonthEndInput> {
  const { billingCycle } = await tenantSettings(tx)
  const last = previousCycle(billingCycle, cycleAt(billingCycle, tx.now.getTime()))
  const cycle = await endedCycle(tx, ask.cycle ?? last.key)
  const length = parseBillingCycle(billingCycle)
  return {
    tenantId: tx.tenantId,
    cycleKey: cycle.key,
    cycleEndsAt: new Date(cycle.endsAt).toISOString(),
    closeAfter: length === 'month' || (length ?? 0) >= DAY_MS ? options.closeAfter : 'PT0S',
    ...(options.batches ?? BATCHES),
  }
}
