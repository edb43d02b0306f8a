/**
 * What is kept of a billing cycle: its cost, and the plan of its month end. Of a closed cycle they are kept for good, as
 * its statement never changes: later usage becomes adjustments of another cycle. An answer from before the close is no
 * longer given. A plan that takes its place says how the two differ.
 */
import { Value } from 'typebox/value'
import { CycleCost } from '../../domain/month-end/cost.ts'
import { MonthEndPlan } from '../../domain/month-end/plan.ts'
import type { Keeping } from '../../store/kept-answers.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { costOfCycle } from './cost-of-cycle.ts'
import { planMonthEnd } from './plan-month-end.ts'
import { findCycle } from './rows/progress.ts'

async function stateOf(tx: TenantTx, key: string, { closedAt }: Pick<MonthEndPlan, 'closedAt'>) {
  const isClosed = ((await findCycle(tx, key))?.closedAt ?? null) !== null
  if (isClosed !== (closedAt !== null)) return 'past'
  return isClosed ? 'final' : 'current'
}

export const COSTS: Keeping<CycleCost> = {
  kind: 'cost',
  fits: (kept): kept is CycleCost => Value.Check(CycleCost, kept),
  stateOf,
  addUp: (tx, key) => costOfCycle(tx, key),
}
export const PLANS: Keeping<MonthEndPlan> = {
  kind: 'plan',
  fits: (kept): kept is MonthEndPlan => Value.Check(MonthEndPlan, kept),
  stateOf,
  addUp: planMonthEnd,
}
