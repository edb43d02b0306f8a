/**
 * Opens cycles slice by slice, each a short transaction. The functions here may be broken off at any moment and called
 * again, on several processes at once: each takes the next slice left.
 */

import { type Cycle, nextCycle } from '../../../domain/time/cycle.ts'
import { inTenant, type Store, type TenantTx } from '../../../store/tenancy.ts'
import { cyclesToOpen, tenantSettings } from './cycles.ts'
import { openSlice } from './open-cycle.ts'

/** The next cycle is opened in this last share of the running one: 15 hours of a month. */
const AHEAD = 1 / 48

/** Opens a cycle not open yet, without a limit of time. */
export const openInSlices = (store: Store, tenantId: string, cycle: Cycle): Promise<void> =>
  repeat(store, tenantId, (tx) => openSlice(tx, cycle, tx.opening.sims))

/**
 * Opens the cycle that runs now, and earlier cycles opened in part: a process needed them, and may have died. If all
 * are open, this is one short transaction.
 */
export async function openRunningCycle(store: Store, tenantId: string): Promise<Cycle> {
  const { running, unopened } = await inTenant(store, tenantId, cyclesToOpen)
  for (const cycle of unopened) await openInSlices(store, tenantId, cycle)
  return running
}

/**
 * Opens a tenant's due cycles: the running one if it is not open, and the next in the last {@link AHEAD} of the running
 * one.
 *
 * @returns when there will be something to do again, epoch milliseconds
 */
export async function keepCyclesOpen(store: Store, tenantId: string): Promise<number> {
  const cycle = await openRunningCycle(store, tenantId)
  const aheadAt = cycle.endsAt - (cycle.endsAt - cycle.startsAt) * AHEAD
  if (store.clock() < aheadAt) return aheadAt
  const { billingCycle } = await inTenant(store, tenantId, tenantSettings)
  await openInSlices(store, tenantId, nextCycle(billingCycle, cycle))
  return cycle.endsAt
}

/** Opens all slices of a cycle. The caller then opens the cycle. */
export const openOnlySlices = (store: Store, tenantId: string, cycle: Cycle): Promise<void> =>
  repeat(store, tenantId, (tx) => openSlice(tx, cycle, tx.opening.sims, false))

async function repeat(store: Store, tenantId: string, slice: (tx: TenantTx) => Promise<boolean>): Promise<void> {
  while (!(await inTenant(store, tenantId, slice)));
}
