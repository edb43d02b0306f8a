/**
 * Plans a month end as of now: changes, capacities, charges, adjustments and conflicts. Changes nothing.
 *
 * The charges are the lines that the close would write, from the same select. The conflicts are refusals of the
 * changes' tickets, by the same checks, or their failures so far: a month end does not retry a failed change unasked.
 */
import { TicketType } from '../../domain/codes.ts'
import type { PoolChange } from '../../domain/month-end/month-end.ts'
import { type Conflict, MOST_NAMED, type MonthEndPlan, type PlannedPool } from '../../domain/month-end/plan.ts'
import { decide, type SimState, stateAfter } from '../../domain/tickets/decisions.ts'
import { type Cycle, nextCycle } from '../../domain/time/cycle.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { type LockedSim, readSimStates } from '../sims/rows/sim-state.ts'
import { placeRefusal, type TicketConflict } from '../tickets/open-ticket.ts'
import { openTicketsOf, type TicketRecord } from '../tickets/rows/tickets.ts'
import { cycleNamed, tenantSettings } from '../usage/rows/cycles.ts'
import { openCycle, openWhole } from '../usage/rows/open-cycle.ts'
import { changedSince } from '../usage/rows/restatements.ts'
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
    const capacities = await readCapacities(tx, nextCycle((await tenantSettings(tx)).billingCycle, cycle))
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
  const conflictOf = conflictsOf(tx, cycle.key)
  for (let afterSimId = 0; ; ) {
    const page = await queuedChanges(tx, cycle, { afterSimId, limit: PAGE })
    const simIds = page.map(({ simId }) => simId)
    const sims = new Map((await readSimStates(tx, simIds)).map((sim) => [sim.simId, sim]))
    const open = await openTicketsOf(tx, simIds)
    const applied: { sim: LockedSim; after: SimState }[] = []
    for (const { state, ticketId: _, code, detail, leftToOther, ...change } of page) {
      const { simId, iccid, unassign } = change
      const sim = sims.get(simId)
      if (sim === undefined) continue
      const before = open.get(simId) ?? []
      if (leftToOther) {
        applied.push({ sim, after: before.reduce<SimState>(stateAfter, sim) })
        continue
      }
      counts.changes += 1
      if (first.length < MOST_NAMED.changes) first.push(change)
      // Only a person can restart a failed change.
      const failed = state === 'failed' ? { code: code ?? '', detail: detail ?? '' } : undefined
      const conflict = failed ?? (await conflictOf(sim, before, change))
      if (conflict !== undefined) {
        counts.conflicts += 1
        if (conflicts.length < MOST_NAMED.conflicts) conflicts.push({ simId, iccid, ...conflict })
        continue
      }
      applied.push({ sim, after: stateAfter(sim, askOf(change, cycle.key)) })
      counts[unassign ? 'unassignments' : 'moves'] += 1
    }
    await capacities.apply(applied)
    if (page.length < PAGE) break
    afterSimId = simIds.at(-1) ?? afterSimId
  }
  const { moves, unassignments } = counts
  return {
    changes: { count: counts.changes, first, more: counts.changes - first.length, moves, unassignments },
    conflicts: { count: counts.conflicts, first: conflicts, more: counts.conflicts - conflicts.length },
  }
}

/** The request of the month end's ticket for a change. */
const askOf = ({ poolId, tariffId, unassign }: PoolChange, cycle: string) => ({
  type: TicketType.Provision,
  poolId,
  tariffId,
  unassign,
  cause: { by: 'month-end' as const, cycle },
})

/**
 * The conflicts of a change, as for its ticket behind the SIM's open tickets. A change without effect is no conflict:
 * its ticket completes at once.
 */
function conflictsOf(tx: TenantTx, cycle: string) {
  const refusals = new Map<string, TicketConflict | undefined>()
  return async (
    sim: LockedSim,
    open: readonly TicketRecord[],
    change: PoolChange,
  ): Promise<TicketConflict | undefined> => {
    const ask = askOf(change, cycle)
    const before = open.reduce<SimState>(stateAfter, sim)
    const decision = decide(before, ask)
    if (decision.do === 'refuse') {
      return { code: 'sim_state_conflict', detail: `SIM ${sim.simId}: ${decision.detail}.` }
    }
    if (change.unassign) return undefined
    const after = { poolId: change.poolId ?? before.poolId, tariffId: change.tariffId ?? before.tariffId }
    // Checks each pool and tariff once for all SIMs.
    const key = `${after.poolId}/${change.tariffId}`
    if (!refusals.has(key)) refusals.set(key, await placeRefusal(tx, after, change.tariffId))
    return refusals.get(key)
  }
}
