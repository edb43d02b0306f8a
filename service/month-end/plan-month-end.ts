/**
 * Plans a month end as of now: changes, capacities, charges, adjustments and conflicts. Changes nothing.
 *
 * The charges are the lines that the close would write, from the same select. The conflicts are refusals of the
 * changes' tickets, by the same checks, or their failures so far: a month end does not retry a failed change unasked.
 */
import type { PoolChange } from '../../domain/month-end/month-end.ts'
import { type Conflict, MOST_NAMED, type MonthEndPlan, type PlannedPool } from '../../domain/month-end/plan.ts'
import { type SimState, stateAfter } from '../../domain/tickets/decisions.ts'
import { type Cycle, nextCycle } from '../../domain/time/cycle.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import type { LockedSim } from '../sims/rows/sim-state.ts'
import { cycleNamed, tenantSettings } from '../usage/rows/cycles.ts'
import { openCycle, openWhole } from '../usage/rows/open-cycle.ts'
import { changedSince } from '../usage/rows/restatements.ts'
import { decideEach } from './open-changes.ts'
import { type Capacities, readCapacities } from './read-capacities.ts'
import { queuedChanges, renewals } from './rows/changes.ts'
import { adjustmentNow, type PoolCharges, plainPools, poolCharges, takenBack } from './rows/plan.ts'
import { findCycle } from './rows/progress.ts'
import { adjustmentTotals } from './rows/statements.ts'

/** Changes in one read: some hundred kilobytes. */
const PAGE = 1000

/**
 * Plans the month end of a cycle. Its writes are rolled back.
 *
 * @throws ServiceError `cycle_not_found`
 */
export const planMonthEnd = (tx: TenantTx, key: string): Promise<MonthEndPlan> =>
  takenBack(tx, async (tx) => {
    const cycle = await cycleNamed(tx, key)
    const state = await findCycle(tx, key)
    const closedAt = state?.closedAt ?? null
    const { billingCycle, currency } = await tenantSettings(tx)
    const capacities = await readCapacities(tx, nextCycle(billingCycle, cycle))
    const changes = closedAt === null ? await goThroughChanges(tx, cycle, capacities) : NO_CHANGES
    const back = closedAt === null ? await renewals(tx, cycle, MOST_NAMED.renewals) : { count: 0, first: [] }
    // The close would open the cycle too. This is rolled back, but the running cycle may stay: any request opens it.
    if (state === undefined) await (isRunning(tx, cycle) ? openCycle : openWhole)(tx, cycle)
    const charges = await poolCharges(tx, cycle, closedAt !== null)
    const adjustments = await adjustmentsOf(tx, key, closedAt !== null)
    const totals = totalsOf(charges, adjustments)
    return {
      cycle: key,
      endsAt: new Date(cycle.endsAt).toISOString(),
      closedAt: closedAt?.toISOString() ?? null,
      statement: totals.lines > 0,
      currency,
      totals,
      pools: firstOf(await poolsOf(tx, charges, capacities), MOST_NAMED.pools),
      adjustments: firstOf(adjustments, MOST_NAMED.adjustments),
      ...changes,
      renewals: { ...back, more: back.count - back.first.length },
    }
  })

const isRunning = (tx: TenantTx, { startsAt, endsAt }: Cycle) =>
  startsAt <= tx.now.getTime() && tx.now.getTime() < endsAt

const firstOf = <T>(all: readonly T[], most: number) => ({
  count: all.length,
  first: all.slice(0, most),
  more: Math.max(0, all.length - most),
})

type Adjustments = MonthEndPlan['adjustments']['first']

/**
 * The adjustments already in the statement, and those that a close would add. An unfinished statement may have both.
 */
async function adjustmentsOf(tx: TenantTx, key: string, closed: boolean): Promise<Adjustments> {
  const adjustments = new Map(
    (await adjustmentTotals(tx, key)).map(({ cycle, lines, totalMicro }) => [cycle, { cycle, lines, totalMicro }]),
  )
  for (const { cycleKey, poolIds } of closed ? [] : await changedSince(tx)) {
    const { lines, totalMicro } = await adjustmentNow(tx, await cycleNamed(tx, cycleKey), poolIds)
    const { lines: before = 0, totalMicro: beforeMicro = 0 } = adjustments.get(cycleKey) ?? {}
    if (lines === 0) continue
    adjustments.set(cycleKey, { cycle: cycleKey, lines: before + lines, totalMicro: beforeMicro + totalMicro })
  }
  return [...adjustments.values()].toSorted((a, b) => (a.cycle < b.cycle ? -1 : 1))
}

const NOTHING = {
  lines: 0,
  usageBytes: 0,
  voiceSeconds: 0,
  smsCount: 0,
  overageBytes: 0,
  feeMicro: 0,
  smsMicro: 0,
  voiceMicro: 0,
  overageMicro: 0,
}
const CHARGES = ['feeMicro', 'smsMicro', 'voiceMicro', 'overageMicro'] as const
const SUMMED = ['lines', 'usageBytes', 'voiceSeconds', 'smsCount', 'overageBytes', ...CHARGES] as const

const chargeOf = (pool: Pick<PoolCharges, (typeof CHARGES)[number]>) =>
  CHARGES.reduce((sum, name) => sum + pool[name], 0)

function totalsOf(charges: readonly PoolCharges[], adjustments: Adjustments): MonthEndPlan['totals'] {
  const sums = { ...NOTHING }
  for (const pool of charges) for (const name of SUMMED) sums[name] += pool[name]
  const adjustmentsMicro = adjustments.reduce((total, { totalMicro }) => total + totalMicro, 0)
  const lines = adjustments.reduce((total, { lines }) => total + lines, sums.lines)
  return { ...sums, lines, adjustmentsMicro, totalMicro: chargeOf(sums) + adjustmentsMicro }
}

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
  return [...charges, ...empty]
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
