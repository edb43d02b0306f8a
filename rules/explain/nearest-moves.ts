/**
 * The nearest miss: the facts that would have to move for conditions to be met, and how far. Pure.
 *
 * One fact is moved at a time, with all others unchanged. Only if no single one is enough, several are moved together:
 * the fewest.
 */
import { SimStatus } from '../../domain/codes.ts'
import type { Cycle } from '../../domain/time/cycle.ts'
import type { FactValue } from '../../domain/watchdog/fact-value.ts'
import type { SubjectKind } from '../../domain/watchdog/subject.ts'
import { YES } from '../compile/comparisons.ts'
import { compileConditions } from '../compile/compile-conditions.ts'
import { rowOf } from '../compile/fact-row.ts'
import { agingRate, NEVER } from '../compile/flip.ts'
import { type Condition, factsRead, isReference, leavesOf } from '../conditions.ts'
import { type Fact, type Facts, factsOf } from '../facts.ts'
import type { Rule } from '../rule.ts'
import { isMet } from './leaves.ts'

export interface NearestMove {
  readonly fact: string
  readonly from: FactValue
  /** The first value that is enough; null: any value except the present one. */
  readonly to: FactValue
  readonly direction: 'rises' | 'falls' | 'becomes'
  /** The distance, at least 0; null if there is none, because a value is not a number, or unknown. */
  readonly by: number | null
  /** Whether `to` itself is not enough, but anything beyond it is. */
  readonly isBeyond: boolean
}

/** The conditions that must come true for a rule to begin to hold, or for an episode to end. */
export function goalOf({ conditions, clear }: Pick<Rule, 'conditions' | 'clear'>, isMet: boolean): Condition {
  if (!isMet) return conditions
  return clear === null ? { not: conditions } : { all: [{ not: conditions }, clear] }
}

const MOST_WAYS = 6
const MOST_ITEMS = 50

/** The ways to an unmet goal, the nearest first; none if it is met, or if no such way was found. */
export function nearestMoves(goal: Condition, subject: SubjectKind, facts: Facts): (readonly NearestMove[])[] {
  const single = singleMoves(goal, subject, facts)
  if (single === null) return []
  if (single.length > 0) return single.slice(0, MOST_WAYS).map((move) => [move])
  const together = needed(goal, true, subject, facts)
  return together !== null && isMet(goal, subject, afterMoves(facts, together)) ? [together] : []
}

/**
 * The moves of one fact that reach a goal, the nearest first: of each fact the shortest upwards, downwards, and to
 * another value. Null: it is reached already.
 */
function singleMoves(goal: Condition, subject: SubjectKind, facts: Facts): NearestMove[] | null {
  const { decide } = compileConditions(goal, subject)
  const isReached = (after: Facts) => decide(rowOf(after)) === YES
  if (isReached(facts)) return null
  const moves = factsRead(goal).flatMap((name) => {
    const fact = factsOf(subject).get(name)
    if (fact === undefined) return []
    const from = facts[name] ?? null
    const enough = candidatesOf(fact, from, comparedWith(name, goal, facts)).filter((move) =>
      isReached(afterMoves(facts, [move])),
    )
    const ways = from === null ? [enough] : [...Map.groupBy(enough, ({ direction }) => direction).values()]
    return ways.flatMap((way) => way.toSorted(byLength).slice(0, 1))
  })
  return moves.toSorted((a, b) => distance(a) - distance(b))
}

const byLength = (a: NearestMove, b: NearestMove): number =>
  (a.by ?? 0) - (b.by ?? 0) || Number(a.isBeyond) - Number(b.isBeyond)

/** Distances of facts of different units are compared as shares of the values. */
const distance = ({ from, to, by }: NearestMove): number =>
  by === null || typeof from !== 'number' || typeof to !== 'number'
    ? Number.MAX_VALUE
    : Math.abs(by) / Math.max(Math.abs(from), Math.abs(to), Number.MIN_VALUE)

export const afterMoves = (facts: Facts, moves: readonly NearestMove[]): Facts => ({
  ...facts,
  ...Object.fromEntries(moves.map((move) => [move.fact, valueAfter(move)])),
})

function valueAfter({ from, to, direction, isBeyond }: NearestMove): FactValue {
  if (to === null) return another(from)
  if (!isBeyond || typeof to !== 'number') return to
  return direction === 'falls' ? -nextAbove(-to) : nextAbove(to)
}

/** A text that no rule compares with. */
const another = (value: FactValue): FactValue => (typeof value === 'boolean' ? !value : `${value}\u0001`)

/** The next number that a double can hold. */
function nextAbove(value: number): number {
  if (value === 0) return Number.MIN_VALUE
  const bits = new DataView(new ArrayBuffer(8))
  bits.setFloat64(0, value)
  bits.setBigInt64(0, bits.getBigInt64(0) + (value > 0 ? 1n : -1n))
  return bits.getFloat64(0)
}

/** The present values that a goal compares a fact with. */
function comparedWith(name: string, goal: Condition, facts: Facts): FactValue[] {
  const values = leavesOf(goal).flatMap(({ fact, value }): FactValue[] => {
    if (isReference(value)) {
      if (fact === name) return [facts[value.fact] ?? null]
      return value.fact === name ? [facts[fact] ?? null] : []
    }
    if (fact !== name) return []
    return typeof value === 'object' ? value.slice(0, MOST_ITEMS) : [value]
  })
  return [...new Set(values)].filter((value) => value !== null)
}

function candidatesOf(fact: Fact, from: FactValue, values: readonly FactValue[]): NearestMove[] {
  const { name, type, codes } = fact
  const becomes = (to: FactValue): NearestMove[] =>
    to === from ? [] : [{ fact: name, from, to, direction: 'becomes', by: null, isBeyond: false }]
  if (type === 'boolean') return [true, false].flatMap(becomes)
  if (codes !== null) return Object.values(codes).flatMap(becomes)
  if (type === 'string') return [...values, ...(from === null ? [] : [null])].flatMap(becomes)
  const numbers = values.filter((value) => typeof value === 'number')
  return numbers.flatMap((value) => movesTo(fact, typeof from === 'number' ? from : null, value))
}

/** To a number, and just above and below it. Whole numbers have no such just. */
function movesTo({ name, type, min, max }: Fact, from: number | null, value: number): NearestMove[] {
  const isWhole = type === 'integer'
  const numbers = isWhole
    ? [...new Set([value - 1, value, value + 1].flatMap((one) => [Math.floor(one), Math.ceil(one)]))]
    : [value]
  const exact = numbers
    .filter((to) => to !== from && (min === null || to >= min) && (max === null || to <= max))
    .map((to) => ({ to, direction: directionTo(from, to), isBeyond: false }))
  const above = isWhole || (from !== null && from > value) || (max !== null && value >= max)
  const below = isWhole || (from !== null && from < value) || (min !== null && value <= min)
  return [
    ...exact,
    ...(above ? [] : [{ to: value, direction: 'rises' as const, isBeyond: true }]),
    ...(below ? [] : [{ to: value, direction: 'falls' as const, isBeyond: true }]),
  ].map((move) => ({ fact: name, from, by: from === null ? null : Math.abs(move.to - from), ...move }))
}

function directionTo(from: number | null, to: number): NearestMove['direction'] {
  if (from === null) return 'becomes'
  return to > from ? 'rises' : 'falls'
}

/** The moves that make a condition true or false, each leaf separately; null if a leaf cannot be moved. */
function needed(
  condition: Condition,
  isWanted: boolean,
  subject: SubjectKind,
  facts: Facts,
): readonly NearestMove[] | null {
  if ('not' in condition) return needed(condition.not, !isWanted, subject, facts)
  if ('fact' in condition) {
    const single = singleMoves(isWanted ? condition : { not: condition }, subject, facts)
    if (single === null) return []
    return single.length === 0 ? null : single.slice(0, 1)
  }
  const isAll = 'all' in condition
  const members = (isAll ? condition.all : condition.any).map((member) => needed(member, isWanted, subject, facts))
  if (isAll === isWanted) {
    const all = members.filter((moves) => moves !== null)
    return all.length < members.length ? null : [...new Map(all.flat().map((move) => [move.fact, move])).values()]
  }
  return members.filter((moves) => moves !== null).toSorted((a, b) => a.length - b.length)[0] ?? null
}

/** So many instants are looked at: facts that others move are read again 720 times a cycle. */
const MOST_LOOKS = 800

/**
 * The time at which an unmet goal is met without events: ageing facts age, all others stay. Null: not in this cycle.
 *
 * @param now epoch milliseconds
 */
export function reachedInTime(
  goal: Condition,
  subject: SubjectKind,
  facts: Facts,
  { now, cycle }: { readonly now: number; readonly cycle: Cycle },
): number | null {
  const { decide, flipAt } = compileConditions(goal, subject)
  if (flipAt === null || decide(rowOf(facts)) === YES) return null
  let at = now
  for (let look = 0; look < MOST_LOOKS; look += 1) {
    const next = flipAt(rowOf(aged(facts, subject, cycle, at - now)), { now: at, cycle }, 0)
    if (next === NEVER) return null
    // The instant is rounded down.
    at = Math.max(at, Math.floor(next)) + 1
    if (at >= cycle.endsAt) return null
    if (decide(rowOf(aged(facts, subject, cycle, at - now))) === YES) return at
  }
  return null
}

/** Facts after so many milliseconds without events. */
export function aged(facts: Facts, subject: SubjectKind, cycle: Cycle, ms: number): Facts {
  const later = Object.entries(facts).map(([name, value]) => {
    const fact = factsOf(subject).get(name)
    if (fact?.withTime !== 'ages' || typeof value !== 'number') return [name, value]
    // Only while it is Active.
    if (name === 'activeForPct' && facts['status'] !== undefined && facts['status'] !== SimStatus.Active)
      return [name, value]
    return [name, Math.min(value + agingRate(fact, cycle) * ms, fact.max ?? Infinity)]
  })
  return Object.fromEntries(later)
}
