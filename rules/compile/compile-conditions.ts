/** Compiles conditions to closures: one returns the answer, the other the time until it may change. */
import type { OperatorName } from '../../domain/rules/operators.ts'
import type { SubjectKind } from '../../domain/watchdog/subject.ts'
import { type Condition, isReference, type Leaf } from '../conditions.ts'
import { operatorNamed } from '../engine/operators.ts'
import { type Fact, factsOf } from '../facts.ts'
import { COMPARISONS, type Comparisons, type Decide, type Ends, NO, UNKNOWN, YES } from './comparisons.ts'
import { placeOfFact } from './fact-row.ts'
import { type FlipAt, flipOf, NEVER } from './flip.ts'

export interface CompiledConditions {
  readonly decide: Decide
  /** Null if time alone never changes the answer. */
  readonly flipAt: FlipAt | null
}

/**
 * Compiles the conditions of rules for one kind of subject. Priorities are left out: they change the engine's
 * comparisons, never its answer.
 *
 * @throws Error for a fact that the subject does not have, or an unknown operator; the load gate refuses both
 */
export function compileConditions(
  condition: Condition,
  subject: SubjectKind,
  comparisons: Comparisons = COMPARISONS,
): CompiledConditions {
  const compile = (inner: Condition): CompiledConditions => compileConditions(inner, subject, comparisons)
  if ('all' in condition) return groupOf(condition.all.map(compile), NO)
  if ('any' in condition) return groupOf(condition.any.map(compile), YES)
  if ('not' in condition) return negated(compile(condition.not))
  return leafOf(condition, subject, comparisons)
}

const negated = ({ decide, flipAt }: CompiledConditions): CompiledConditions => ({
  decide(row) {
    const answer = decide(row)
    return answer === UNKNOWN ? UNKNOWN : answer === YES ? NO : YES
  },
  flipAt,
})

/**
 * A group. One member with the answer `decisive` decides it: NO for `all`, YES for `any`.
 *
 * Its answer lasts as long as the last of such members keeps its own. Without one, it lasts until the first of its
 * members changes. An empty group is met, as in the engine.
 */
function groupOf(members: readonly CompiledConditions[], decisive: typeof NO | typeof YES): CompiledConditions {
  const [first] = members
  if (first === undefined) return { decide: () => YES, flipAt: null }
  if (members.length === 1) return first
  const otherwise = decisive === NO ? YES : NO
  const decides = members.map(({ decide }) => decide)
  return {
    decide(row) {
      let unknown = false
      for (const decide of decides) {
        const answer = decide(row)
        if (answer === decisive) return decisive
        if (answer === UNKNOWN) unknown = true
      }
      return unknown ? UNKNOWN : otherwise
    },
    flipAt: groupFlip(members, decisive),
  }
}

function groupFlip(members: readonly CompiledConditions[], decisive: typeof NO | typeof YES): FlipAt | null {
  const fixed = members.filter(({ flipAt }) => flipAt === null).map(({ decide }) => decide)
  const moving = members.flatMap(({ decide, flipAt }) => (flipAt === null ? [] : [{ decide, flipAt }]))
  if (moving.length === 0) return null
  return (row, moment, tariffs) => {
    for (const decide of fixed) if (decide(row) === decisive) return NEVER
    let first = NEVER
    let last = Number.NEGATIVE_INFINITY
    for (const { decide, flipAt } of moving) {
      const at = flipAt(row, moment, tariffs)
      if (decide(row) === decisive) last = Math.max(last, at)
      else first = Math.min(first, at)
    }
    return last === Number.NEGATIVE_INFINITY ? first : last
  }
}

function leafOf({ fact: name, operator, value }: Leaf, subject: SubjectKind, comparisons: Comparisons) {
  const { base, ends } = operatorOf(operator)
  const fact = factOf(name, subject)
  const place = placeOfFact(name)
  const { withValue, isMet } = comparisons[base]
  if (!isReference(value))
    return { decide: withValue(place, value, ends), flipAt: flipOf(base, fact, place, { value }) }
  const otherPlace = placeOfFact(value.fact)
  const { met, unmet } = ends
  const decide: Decide = (row) => {
    const a = row[place]
    const b = row[otherPlace]
    if (a === undefined || b === undefined) return UNKNOWN
    return isMet(a, b) ? met : unmet
  }
  return { decide, flipAt: flipOf(base, fact, place, { fact: factOf(value.fact, subject), place: otherPlace }) }
}

function operatorOf(name: string): { readonly base: OperatorName; readonly ends: Ends } {
  const found = operatorNamed(name)
  if (found === undefined) throw new Error(`got the operator ${name}, expected one of domain/rules/operators.ts`)
  const { base, negated: isNegated } = found
  return { base, ends: isNegated ? { met: NO, unmet: YES } : { met: YES, unmet: NO } }
}

function factOf(name: string, subject: SubjectKind): Fact {
  const fact = factsOf(subject).get(name)
  if (fact === undefined) throw new Error(`got the fact ${name}, expected one of the subject ${subject}`)
  return fact
}
