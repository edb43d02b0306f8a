/**
 * The comparisons of rules, compiled: each operator becomes a closure over a row, made for its operand. They decide as
 * the engine does with the operators of `rules/engine/operators.ts`, tested by `differential.test.ts`. The two are
 * written separately, to find mistakes in either.
 */
import type { OperatorName } from '../../domain/rules/operators.ts'
import type { Scalar } from '../conditions.ts'
import type { FactRow } from './fact-row.ts'

export const NO = 0
/** A fact that was not read decides the answer. */
export const UNKNOWN = 1
export const YES = 2
/** An answer in Kleene's logic of three values. */
export type Answer = typeof NO | typeof UNKNOWN | typeof YES

/** Answers for the facts of one subject. Allocates nothing. */
export type Decide = (row: FactRow) => Answer

/** The answers if the comparison is met, and if it is not. A negated operator has them the other way round. */
export interface Ends {
  readonly met: Answer
  readonly unmet: Answer
}

export interface CompiledComparison {
  /** Compares the fact at a place with a value or a list that the rule gives. */
  readonly withValue: (place: number, operand: Scalar | readonly Scalar[], ends: Ends) => Decide
  /** Compares two facts that were read. */
  readonly isMet: (a: unknown, b: unknown) => boolean
}

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)
const isScalar = (value: unknown): value is Scalar =>
  isNumber(value) || typeof value === 'string' || typeof value === 'boolean'

/** A comparison with an operand of a wrong type. */
const never =
  (place: number, { unmet }: Ends): Decide =>
  (row) =>
    row[place] === undefined ? UNKNOWN : unmet

/** A comparison of two numbers. Infinite facts meet none, so the closures below look for them. */
const ordered = (
  isMet: (a: number, b: number) => boolean,
  withNumber: (place: number, operand: number, ends: Ends) => Decide,
): CompiledComparison => ({
  isMet: (a, b) => isNumber(a) && isNumber(b) && isMet(a, b),
  withValue: (place, operand, ends) => (isNumber(operand) ? withNumber(place, operand, ends) : never(place, ends)),
})

const lessThan = ordered(
  (a, b) => a < b,
  (place, operand, { met, unmet }) =>
    (row) => {
      const value = row[place]
      if (value === undefined) return UNKNOWN
      return typeof value === 'number' && value < operand && value !== -Infinity ? met : unmet
    },
)
const lessThanInclusive = ordered(
  (a, b) => a <= b,
  (place, operand, { met, unmet }) =>
    (row) => {
      const value = row[place]
      if (value === undefined) return UNKNOWN
      return typeof value === 'number' && value <= operand && value !== -Infinity ? met : unmet
    },
)
const greaterThan = ordered(
  (a, b) => a > b,
  (place, operand, { met, unmet }) =>
    (row) => {
      const value = row[place]
      if (value === undefined) return UNKNOWN
      return typeof value === 'number' && value > operand && value !== Infinity ? met : unmet
    },
)
const greaterThanInclusive = ordered(
  (a, b) => a >= b,
  (place, operand, { met, unmet }) =>
    (row) => {
      const value = row[place]
      if (value === undefined) return UNKNOWN
      return typeof value === 'number' && value >= operand && value !== Infinity ? met : unmet
    },
)

const equal: CompiledComparison = {
  isMet: (a, b) => isScalar(a) && a === b,
  withValue(place, operand, ends) {
    if (!isScalar(operand)) return never(place, ends)
    const { met, unmet } = ends
    return (row) => {
      const value = row[place]
      if (value === undefined) return UNKNOWN
      return value === operand ? met : unmet
    }
  },
}

const notEqual: CompiledComparison = {
  isMet: (a, b) => isScalar(a) && isScalar(b) && typeof a === typeof b && a !== b,
  withValue(place, operand, ends) {
    if (!isScalar(operand)) return never(place, ends)
    const { met, unmet } = ends
    const type = typeof operand
    return (row) => {
      const value = row[place]
      if (value === undefined) return UNKNOWN
      return typeof value === type && value !== operand && isScalar(value) ? met : unmet
    }
  },
}

/** From this length on, a set is faster than a list. */
const LONG_LIST = 8

const listed = (isIn: boolean): CompiledComparison => ({
  isMet: (a, b) => isScalar(a) && Array.isArray(b) && b.includes(a) === isIn,
  withValue(place, operand, ends) {
    if (!Array.isArray(operand)) return never(place, ends)
    const found = isIn ? ends.met : ends.unmet
    const missing = isIn ? ends.unmet : ends.met
    const list: readonly unknown[] = [...operand]
    const set = new Set(list)
    const has = list.length < LONG_LIST ? (value: unknown) => list.includes(value) : (value: unknown) => set.has(value)
    const { unmet } = ends
    return (row) => {
      const value = row[place]
      if (value === undefined) return UNKNOWN
      if (!isScalar(value)) return unmet
      return has(value) ? found : missing
    }
  },
})

const known: CompiledComparison = {
  isMet: (a, b) => typeof b === 'boolean' && isScalar(a) === b,
  withValue(place, operand, ends) {
    if (typeof operand !== 'boolean') return never(place, ends)
    const { met, unmet } = ends
    return (row) => {
      const value = row[place]
      if (value === undefined) return UNKNOWN
      return isScalar(value) === operand ? met : unmet
    }
  },
}

export type Comparisons = Readonly<Record<OperatorName, CompiledComparison>>

export const COMPARISONS: Comparisons = {
  equal,
  notEqual,
  lessThan,
  lessThanInclusive,
  greaterThan,
  greaterThanInclusive,
  in: listed(true),
  notIn: listed(false),
  known,
}
