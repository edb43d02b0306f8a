/**
 * Keeps the cost of a cycle: to add it up takes seconds in an estate of a million SIMs.
 *
 * A closed cycle's cost is kept for good, as its statement never changes: later usage becomes adjustments of another
 * cycle. A row from before the close is no longer found.
 */
import { Value } from 'typebox/value'
import { CycleCost } from '../../domain/month-end/cost.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { cycleNamed } from '../usage/rows/cycles.ts'
import { costOfCycle } from './cost-of-cycle.ts'
import { findCost, lockCost, saveCost } from './rows/cycle-costs.ts'

const FRESH_MS = 60_000

interface KeptCost {
  readonly cost: CycleCost
  /** Whether it needs no renewal: its cycle is closed, or it is younger than a minute. */
  readonly isFresh: boolean
}

/** Reads the kept cost of a cycle; undefined if there is none that fits. @throws ServiceError `cycle_not_found` */
export async function keptCost(tx: TenantTx, key: string): Promise<KeptCost | undefined> {
  await cycleNamed(tx, key)
  const { cost, asOf } = (await findCost(tx, key)) ?? {}
  if (asOf === undefined || !Value.Check(CycleCost, cost)) return undefined
  // A clock that was ahead may have gone back.
  const ageMs = Math.abs(tx.now.getTime() - asOf.getTime())
  return { cost, isFresh: cost.closedAt !== null || ageMs < FRESH_MS }
}

/**
 * Computes the cost of a cycle and keeps it, unless that was just done. Only one transaction at a time does so.
 *
 * What the computation writes and locks is taken back before the row is written: one transaction is enough for both.
 *
 * @returns undefined if another transaction computes it now
 * @throws ServiceError `cycle_not_found`
 */
export async function renewCost(tx: TenantTx, key: string): Promise<CycleCost | undefined> {
  if (!(await lockCost(tx, key))) return undefined
  const kept = await keptCost(tx, key)
  if (kept?.isFresh === true) return kept.cost
  const cost = await costOfCycle(tx, key)
  await saveCost(tx, key, cost)
  return cost
}
