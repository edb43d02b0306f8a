/** The steps of a month end that the service does. The workflow decides their order. */

import type { ChangeKind, MonthEndBatches, MonthEndCounts, QueuedChangeInfo } from '../../domain/month-end/month-end.ts'
import { type Cycle, nextCycle } from '../../domain/time/cycle.ts'
import { noteChange } from '../../store/audit.ts'
import { inTenant, type Store, type TenantTx } from '../../store/tenancy.ts'
import { cycleNamed, endedCycle, tenantSettings } from '../usage/rows/cycles.ts'
import { isCycleOpen, openCycle } from '../usage/rows/open-cycle.ts'
import { openOnlySlices } from '../usage/rows/open-in-slices.ts'
import { batchesOf, changesWithState, countChanges, countRenewals, type StepCounts } from './rows/changes.ts'
import { findCycle } from './rows/progress.ts'

/**
 * A page of the changes queued before the cycle's end.
 *
 * @throws ServiceError `cycle_not_found`
 */
export async function changesOf(
  tx: TenantTx,
  key: string,
  ask: { readonly afterSimId: number; readonly limit: number; readonly unassign: boolean | null },
): Promise<QueuedChangeInfo[]> {
  const cycle = await cycleNamed(tx, key)
  return changesWithState(tx, cycle, ask)
}

/**
 * The SIMs not begun in a step of a cycle's month end, in batches.
 *
 * @throws ServiceError `cycle_not_found`, `cycle_open`
 */
export async function monthEndBatches(
  tx: TenantTx,
  key: string,
  kind: ChangeKind | 'renew',
  ask: { readonly afterSimId: number; readonly size: number; readonly limit: number },
): Promise<MonthEndBatches> {
  const batches = await batchesOf(tx, await endedCycle(tx, key), kind, ask)
  const last = batches.at(-1)
  const more = batches.length === ask.limit && last?.count === ask.size
  return { batches, nextAfterSimId: more ? last.throughSimId : null }
}

/**
 * Does the long part of {@link renewCycle}, in short transactions: opens the cycle for all SIMs.
 *
 * @throws ServiceError `cycle_not_found`, `cycle_open`
 */
export async function prepareRenewal(store: Store, tenantId: string, key: string): Promise<void> {
  const { next, isOpened } = await inTenant(store, tenantId, async (tx) => {
    const next = await cycleAfter(tx, key)
    return { next, isOpened: await isCycleOpen(tx, next) }
  })
  if (!isOpened) await openOnlySlices(store, tenantId, next)
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
  const unassign = await countChanges(tx, cycle, 'unassign')
  const move = await countChanges(tx, cycle, 'move')
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
