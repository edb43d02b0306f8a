/** Judges by compiled rules whether an evaluation of a subject by the engine would change an alert. Pure. */
import {
  type Around,
  changesAlert,
  type DecidedAlert,
  decideSubject,
  type KeptAlert,
  leftOf,
} from '../alerts/decide-subject.ts'
import { standsStill } from '../alerts/phases.ts'
import type { SubjectFacts } from '../alerts/subject.ts'
import type { RuleOutcome } from '../engine/evaluate-subject.ts'
import { NO, UNKNOWN, YES } from './comparisons.ts'
import type { CompiledRule } from './compile-rule.ts'
import type { FactRow } from './fact-row.ts'
import { type FlipMoment, NEVER, nextLookAt } from './flip.ts'

/** `changed`: an evaluation would change an alert. `unknown`: a fact that was not read decides. */
export type SubjectVerdict<A> =
  | { readonly is: 'changed' | 'unknown' }
  | {
      /** An evaluation would leave all alerts unchanged, without tellings. Their wishes are not compared. */
      readonly is: 'unchanged'
      /** The decisions that an evaluation would make on its alerts. */
      readonly decided: readonly DecidedAlert<A>[]
    }

/** Whether an evaluation would surely leave it that there is no alert of a rule. */
export const beginsNothing = ({ holds }: CompiledRule, row: FactRow): boolean => holds(row) === NO

/**
 * The earliest instant at which time alone may change an answer of rules attached to a subject; {@link NEVER} if it
 * cannot.
 *
 * @param tariffs bit of the governing tariff of a SIM (`tariffBit`); 0 for other subjects
 */
export function flipsAt(
  attached: readonly CompiledRule[],
  row: FactRow,
  moment: FlipMoment & { readonly staleSince: number | null },
  tariffs: number,
): number {
  let first = NEVER
  for (const one of attached) {
    first = Math.min(first, one.flipAt(row, moment, tariffs))
    // A look notices the end of a stand-still.
    if (standsStill(one.rule, moment.staleSince)) first = Math.min(first, nextLookAt(moment))
  }
  return first
}

/**
 * Judges a subject: its alerts are decided by the answers of the compiled rules.
 *
 * @param attached the rules attached to it
 * @param stored its alerts
 */
export function judgeSubject<A extends KeptAlert>(
  subject: SubjectFacts,
  { attached, row }: { readonly attached: readonly CompiledRule[]; readonly row: FactRow },
  stored: readonly A[],
  around: Around<A>,
): SubjectVerdict<A> {
  if (leftOf(subject, attached, stored, around).length > 0) return { is: 'changed' }
  const outcomes: RuleOutcome[] = []
  for (const one of attached) {
    if (beginsNothing(one, row) && !stored.some(({ rule }) => rule === one.rule.name)) continue
    const outcome = outcomeOf(one, row)
    if (outcome === null) return { is: 'unknown' }
    outcomes.push(outcome)
  }
  const decided = outcomes.length === 0 ? [] : decideSubject(subject, outcomes, stored, around)
  // A telling always changes the state.
  return decided.some(changesAlert) ? { is: 'changed' } : { is: 'unchanged', decided }
}

/** The outcome that the engine would give; null if it depends on a fact that was not read. */
function outcomeOf({ rule, holds, clear, occurrence, step }: CompiledRule, row: FactRow): RuleOutcome | null {
  const held = holds(row)
  const cleared = clear?.(row) ?? null
  const which = occurrence(row)
  if (held === UNKNOWN || cleared === UNKNOWN || which === undefined) return null
  const reached = held === YES ? step(row) : null
  return {
    rule,
    met: held === YES,
    ...(reached === null ? {} : { step: reached }),
    ...(cleared === null ? {} : { clear: cleared === YES }),
    occurrence: which,
    explanation: [],
  }
}
