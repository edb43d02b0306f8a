/** What a month end would do, as it stands: changes, capacities, charges and conflicts. Changes nothing. */
import type { Cycle } from '../domain/cycle.ts'
import type { PoolChange } from '../domain/month-end.ts'
import { holdCycles, openCycle } from '../store/cycles.ts'
import { poolFigures } from '../store/figures.ts'
import { ledgerPools, queuedChanges, suspensionsToRenew } from '../store/month-end.ts'
import { findPool } from '../store/pools.ts'
import { findTariff } from '../store/tariffs.ts'
import type { TenantTx } from '../store/tenancy.ts'
import { cycleNamed } from './month-end.ts'

export interface MonthEndPlan {
  readonly cycle: string
  readonly endsAt: string
  readonly changes: readonly PoolChange[]
  readonly conflicts: readonly { readonly simId: number; readonly detail: string }[]
  /** SIMs that would be brought back. */
  readonly renewals: readonly number[]
  readonly pools: readonly {
    readonly poolId: number
    readonly usageBytes: number
    readonly limitBytes: number
    readonly overageBytes: number
  }[]
}

/** Most of each list that a plan holds. */
const MOST = 10_000

/** @throws ServiceError `cycle_not_found` */
export async function planMonthEnd(tx: TenantTx, key: string): Promise<MonthEndPlan> {
  const cycle = await cycleNamed(tx, key)
  const before = new Date(cycle.endsAt)
  const changes = await queuedChanges(tx, { before, afterSimId: 0, limit: MOST, unassign: null })
  const figures = (await hasLedger(tx, cycle)) ? await poolFigures(tx, key, await ledgerPools(tx, cycle)) : []
  return {
    cycle: key,
    endsAt: before.toISOString(),
    changes,
    conflicts: await conflictsOf(tx, changes),
    renewals: (await suspensionsToRenew(tx, key, 0, MOST)).map(({ simId }) => simId),
    pools: [...figures].map(([poolId, { usageBytes, limitBytes, overageBytes }]) => ({
      poolId,
      usageBytes,
      limitBytes,
      overageBytes,
    })),
  }
}

/** Whether a cycle has a ledger. The running one has, as for everybody who asks for it; no other is opened. */
async function hasLedger(tx: TenantTx, cycle: Cycle): Promise<boolean> {
  const now = tx.now.getTime()
  if (cycle.startsAt <= now && now < cycle.endsAt) await openCycle(tx, cycle)
  return (await holdCycles(tx, [cycle])).length === 0
}

async function conflictsOf(tx: TenantTx, changes: readonly PoolChange[]): Promise<MonthEndPlan['conflicts']> {
  const missingPools = new Set<number>()
  for (const id of new Set(changes.flatMap(({ poolId }) => poolId ?? []))) {
    if ((await findPool(tx, id)) === undefined) missingPools.add(id)
  }
  const closedTariffs = new Set<number>()
  for (const id of new Set(changes.flatMap(({ tariffId }) => tariffId ?? []))) {
    if ((await findTariff(tx, id))?.isActive !== true) closedTariffs.add(id)
  }
  return changes.flatMap(({ simId, poolId, tariffId }) => [
    ...(poolId !== null && missingPools.has(poolId) ? [{ simId, detail: `there is no pool ${poolId}` }] : []),
    ...(tariffId !== null && closedTariffs.has(tariffId)
      ? [{ simId, detail: `tariff ${tariffId} takes no new assignments` }]
      : []),
  ])
}
