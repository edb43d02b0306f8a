/** Compiles one rule: closures over a row of facts. */
import type { SubjectKind } from '../../domain/watchdog/subject.ts'
import { factsReadBy } from '../engine/evaluate-subject.ts'
import { factsOf } from '../facts.ts'
import { type Ladder, stepAbove, stepReached } from '../ladder.ts'
import type { Rule } from '../rule.ts'
import { COMPARISONS, type Comparisons, type Decide } from './comparisons.ts'
import { compileConditions } from './compile-conditions.ts'
import { type FactRow, placeOfFact } from './fact-row.ts'
import { type FlipAt, flipOf, NEVER } from './flip.ts'

export interface CompiledRule {
  readonly rule: Rule
  /** See `factsReadBy`. */
  readonly reads: readonly string[]
  readonly holds: Decide
  /** Whether the clear conditions are met; null if the rule has none. */
  readonly clear: Decide | null
  /** The value that names the occurrence; null: unknown, empty, or the rule has none; undefined: not read. */
  readonly occurrence: (row: FactRow) => string | null | undefined
  /** The highest reached step of the rule's ladder; null below the first, and without a ladder. */
  readonly step: (row: FactRow) => number | null
  /**
   * The earliest instant at which time alone may change the answer of `holds` or `clear`, or the step: at most the end
   * of the cycle, because many facts start again there. Ends of `for` are left out.
   */
  readonly flipAt: FlipAt
}

/** Compiles a rule. @param comparisons other operators, for tests @throws Error for a rule that the gate refuses */
export function compileRule(rule: Rule, comparisons: Comparisons = COMPARISONS): CompiledRule {
  const { subject } = rule
  const conditions = compileConditions(rule.conditions, subject, comparisons)
  const clear = rule.clear === null ? null : compileConditions(rule.clear, subject, comparisons)
  const { ladder } = rule
  const steps = ladder === null ? null : stepFlip(ladder, subject)
  const flips = [conditions.flipAt, clear?.flipAt ?? null, steps].filter((flipAt) => flipAt !== null)
  const { occurrence } = rule.event.params
  return {
    rule,
    reads: factsReadBy(rule),
    holds: conditions.decide,
    clear: clear?.decide ?? null,
    occurrence: occurrence === undefined ? () => null : occurrenceAt(placeOfFact(occurrence)),
    step: ladder === null ? () => null : stepAt(ladder, placeOfFact(ladder.fact)),
    flipAt(row, moment, tariffs) {
      let first = NEVER
      for (const flipAt of flips) first = Math.min(first, flipAt(row, moment, tariffs))
      return Math.min(first, moment.cycle.endsAt)
    },
  }
}

const occurrenceAt =
  (place: number) =>
  (row: FactRow): string | null | undefined => {
    const value = row[place]
    if (value === undefined) return undefined
    return value === null || value === '' ? null : String(value)
  }

const stepAt =
  (ladder: Ladder, place: number) =>
  (row: FactRow): number | null =>
    stepReached(ladder, row[place])

/** When an ageing fact may reach its next step by time alone; null for other facts, which conditions read too. */
function stepFlip(ladder: Ladder, subject: SubjectKind): FlipAt | null {
  const fact = factsOf(subject).get(ladder.fact)
  if (fact?.withTime !== 'ages') return null
  const place = placeOfFact(ladder.fact)
  return (row, moment, tariffs) => {
    const value = row[place]
    const next = typeof value === 'number' ? stepAbove(ladder, value) : null
    if (next === null) return NEVER
    return flipOf('greaterThanInclusive', fact, place, { value: next })?.(row, moment, tariffs) ?? NEVER
  }
}
