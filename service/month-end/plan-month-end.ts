/**
 * Plans a month end as of now: changes, capacities, charges, adjustments and conflicts. Changes nothing.
 *
 * The charges are the lines that the close would write, from the same select. The conflicts are refusals of the
 * changes' tickets, by the same checks, or their failures so far: a month end does not retry a failed change unasked.
 */

import { differenceFrom } from '../../domain/month-end/difference.ts'
import type { PoolChange } from '../../domain/month-end/month-end.ts'
import { type Conflict, MOST_NAMED, type MonthEndPlan, type PlannedPool } from '../../domain/month-end/plan.ts'
import { type SimState, stateAfter } from '../../domain/tickets/decisions.ts'
import { type Cycle, nextCycle } from '../../domain/time/cycle.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import type { LockedSim } from '../sims/rows/sim-state.ts'
import { cycleNamed, tenantSettings } from '../usage/rows/cycles.ts'
import { chargeOf, firstOf, NOTHING, readCharges } from './charges.ts'
import { decideEach } from './open-changes.ts'
import { type Capacities, readCapacities } from './read-capacities.ts'
import { queuedChanges, renewals } from './rows/changes.ts'
import { type PoolCharges, plainPools, takenBack } from './rows/plan.ts'
import { findCycle } from './rows/progress.ts'

/** Changes in one read: some hundred kilobytes. */
const PAGE = 1000

/**
 * Plans the month end of a cycle. Its writes are rolled back.
 *
 * @param before an earlier plan: that of a closed cycle says how its statement differs
 * @throws ServiceError `cycle_not_found`
 */
export const planMonthEnd = (tx: TenantTx, key: string, before?: MonthEndPlan): Promise<MonthEndPlan> =>
  takenBack(tx, async (tx) => {
    const cycle = await cycleNamed(tx, key)
    const state = await findCycle(tx, key)
    const closedAt = state?.closedAt ?? null
    const { billingCycle, currency } = await tenantSettings(tx)
    const capacities = await readCapacities(tx, nextCycle(billingCycle, cycle))
    const changes = closedAt === null ? await goThroughChanges(tx, cycle, capacities) : NO_CHANGES
    const back = closedAt === null ? await renewals(tx, cycle, MOST_NAMED.renewals) : { count: 0, first: [] }
    const { charges, adjustments, totals } = await readCharges(tx, cycle, state)
    const plan = {
      cycle: key,
      endsAt: new Date(cycle.endsAt).toISOString(),
      closedAt: closedAt?.toISOString() ?? null,
      at: tx.now.toISOString(),
      statement: totals.lines > 0,
      currency,
      totals,
      pools: firstOf(await poolsOf(tx, charges, capacities), MOST_NAMED.pools),
      adjustments: firstOf(adjustments, MOST_NAMED.adjustments),
      ...changes,
      renewals: { ...back, more: back.count - back.first.length },
    }
    return { ...plan, difference: closedAt === null || before === undefined ? null : differenceFrom(before, plan) }
  })

/** Pools with charges, and existing pools, in order of id. */
async function poolsOf(
  tx: TenantTx,
  charges: readonly PoolCharges[],
  capacities: Capacities,
): Promise<readonly PlannedPool[]> {
  const charged = new Set(charges.map(({ poolId }) => poolId))
  const others = (await plainPools(tx)).filter(({ poolId }) => !charged.has(poolId))
  const empty = others.map(({ poolId, poolName }) => {
    return { poolId, poolName, ...NOTHING, limitBytes: capacities.empty(poolId) }
  })
  return [...charges.map(({ forecastOverageMicro: _, ...pool }) => pool), ...empty]
    .map((pool) => ({ ...pool, totalMicro: chargeOf(pool), nextLimitBytes: capacities.of(pool.poolId) }))
    .toSorted((a, b) => a.poolId - b.poolId)
}

type Changes = Pick<MonthEndPlan, 'changes' | 'conflicts'>
const NO_CHANGES: Changes = {
  changes: { count: 0, first: [], more: 0, moves: 0, unassignments: 0 },
  conflicts: { count: 0, first: [], more: 0 },
}

/**
 * Goes through the queued changes page by page. Checks each, and applies those without a conflict to the capacities.
 */
async function goThroughChanges(tx: TenantTx, cycle: Cycle, capacities: Capacities): Promise<Changes> {
  const first: PoolChange[] = []
  const conflicts: Conflict[] = []
  const counts = { changes: 0, conflicts: 0, moves: 0, unassignments: 0 }
  for (let afterSimId = 0; ; ) {
    const page = await queuedChanges(tx, cycle, { afterSimId, limit: PAGE })
    const leaving = await decideEach(
      tx,
      { cycle, kind: 'unassign' },
      page.filter(({ unassign }) => unassign),
    )
    const moving = await decideEach(
      tx,
      { cycle, kind: 'move' },
      page.filter(({ unassign }) => !unassign),
    )
    const applied: { sim: LockedSim; after: SimState }[] = []
    for (const decided of [...leaving, ...moving].toSorted((a, b) => a.sim.simId - b.sim.simId)) {
      const { sim, before, ask, refusal } = decided
      const { state, ticketId: _, code, detail, leftToOther, ...change } = decided.change
      const { simId, iccid, unassign } = change
      if (leftToOther) {
        applied.push({ sim, after: before })
        continue
      }
      counts.changes += 1
      if (first.length < MOST_NAMED.changes) first.push(change)
      // Only a person can restart a failed change.
      const conflict = state === 'failed' ? { code: code ?? '', detail: detail ?? '' } : refusal
      if (conflict !== undefined) {
        counts.conflicts += 1
        if (conflicts.length < MOST_NAMED.conflicts) conflicts.push({ simId, iccid, ...conflict })
        continue
      }
      applied.push({ sim, after: stateAfter(sim, ask) })
      counts[unassign ? 'unassignments' : 'moves'] += 1
    }
    await capacities.apply(applied)
    if (page.length < PAGE) break
    afterSimId = page.at(-1)?.simId ?? afterSimId
  }
  const { moves, unassignments } = counts
  return {
    changes: { count: counts.changes, first, more: counts.changes - first.length, moves, unassignments },
    conflicts: { count: counts.conflicts, first: conflicts, more: counts.conflicts - conflicts.length },
  }
}
