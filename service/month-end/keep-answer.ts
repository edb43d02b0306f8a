/**
 * Keeps answers about a cycle that take seconds to add up in an estate of a million SIMs: its cost, and the plan of its
 * month end.
 *
 * Of a closed cycle an answer is kept for good, as its statement never changes: later usage becomes adjustments of
 * another cycle. An answer from before the close is no longer given. A plan that takes its place says how the two
 * differ.
 */
import { Value } from 'typebox/value'
import { CycleCost } from '../../domain/month-end/cost.ts'
import { MonthEndPlan } from '../../domain/month-end/plan.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { cycleNamed } from '../usage/rows/cycles.ts'
import { costOfCycle } from './cost-of-cycle.ts'
import { planMonthEnd } from './plan-month-end.ts'
import { type AnswerTable, findAnswer, lockAnswer, saveAnswer } from './rows/kept-answers.ts'

/** A kind of answer, and where it is kept. */
export interface Keeping<A> {
  readonly table: AnswerTable
  readonly fits: (kept: unknown) => kept is A
  /** Its writes are rolled back. @param before the answer whose place it takes */
  readonly addUp: (tx: TenantTx, key: string, before: A | undefined) => Promise<A>
}
type CycleAnswer = Pick<MonthEndPlan, 'closedAt'>

export const COSTS: Keeping<CycleCost> = {
  table: 'cycle_costs',
  fits: (kept): kept is CycleCost => Value.Check(CycleCost, kept),
  addUp: (tx, key) => costOfCycle(tx, key),
}
export const PLANS: Keeping<MonthEndPlan> = {
  table: 'month_end_plans',
  fits: (kept): kept is MonthEndPlan => Value.Check(MonthEndPlan, kept),
  addUp: planMonthEnd,
}

const FRESH_MS = 60_000

interface Kept<A> {
  readonly answer: A
  /** Whether it needs no renewal: its cycle is closed, or it is younger than a minute. */
  readonly isFresh: boolean
}

/** Reads the kept answer about a cycle; undefined if there is none that fits. @throws ServiceError `cycle_not_found` */
export async function keptAnswer<A extends CycleAnswer>(
  tx: TenantTx,
  keeping: Keeping<A>,
  key: string,
): Promise<Kept<A> | undefined> {
  await cycleNamed(tx, key)
  const row = await findFitting(tx, keeping, key)
  return row?.isPresent === true ? { answer: row.answer, isFresh: isFresh(tx, row) } : undefined
}

/**
 * Adds an answer up and keeps it, unless that was just done. Only one transaction at a time does so.
 *
 * What the computation writes and locks is taken back before the row is written: one transaction is enough for both.
 *
 * @param after epoch milliseconds: an answer about an open cycle that is not younger is renewed
 * @returns undefined if another transaction computes it now
 * @throws ServiceError `cycle_not_found`
 */
export async function renewAnswer<A extends CycleAnswer>(
  tx: TenantTx,
  keeping: Keeping<A>,
  key: string,
  after?: number,
): Promise<A | undefined> {
  await cycleNamed(tx, key)
  if (!(await lockAnswer(tx, keeping.table, key))) return undefined
  const row = await findFitting(tx, keeping, key)
  if (row?.isPresent === true && isFresh(tx, row, after)) return row.answer
  const answer = await keeping.addUp(tx, key, row?.answer)
  await saveAnswer(tx, keeping.table, key, answer)
  return answer
}

async function findFitting<A>(tx: TenantTx, { table, fits }: Keeping<A>, key: string) {
  const row = await findAnswer(tx, table, key)
  return row !== undefined && fits(row.answer) ? { ...row, answer: row.answer } : undefined
}

function isFresh(
  tx: TenantTx,
  { answer, asOf }: { readonly answer: CycleAnswer; readonly asOf: Date },
  after?: number,
): boolean {
  if (answer.closedAt !== null) return true
  // A clock that was ahead may have gone back.
  const ageMs = Math.abs(tx.now.getTime() - asOf.getTime())
  return after === undefined ? ageMs < FRESH_MS : asOf.getTime() > after
}
