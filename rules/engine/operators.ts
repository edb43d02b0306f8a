/**
 * Comparisons of rules, under json-rules-engine's own names, but strict: the engine's own let `3 >= null` hold, read
 * the text `'5'` as a number and throw on a wrong list. With ours nothing holds for a value that is null or of the
 * wrong type.
 */
import type { Engine } from 'json-rules-engine'

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)
const isScalar = (value: unknown): boolean => isNumber(value) || typeof value === 'string' || typeof value === 'boolean'
const alike = (a: unknown, b: unknown): boolean => isScalar(a) && typeof a === typeof b && isScalar(b)

const numeric = (isMet: (a: number, b: number) => boolean) => (a: unknown, b: unknown) =>
  isNumber(a) && isNumber(b) && isMet(a, b)

/** What an operator compares, and how mails and pages put it. */
export interface Operator {
  /** `order`: two numbers; `equality`: two values of one type; `list`: a value and a list; `presence`: true or false. */
  readonly takes: 'order' | 'equality' | 'list' | 'presence'
  readonly meaning: string
  readonly isMet: (fact: unknown, operand: unknown) => boolean
}

export const OPERATORS = {
  equal: { takes: 'equality', meaning: 'is', isMet: (a, b) => alike(a, b) && a === b },
  notEqual: { takes: 'equality', meaning: 'is known and is not', isMet: (a, b) => alike(a, b) && a !== b },
  lessThan: { takes: 'order', meaning: 'is below', isMet: numeric((a, b) => a < b) },
  lessThanInclusive: { takes: 'order', meaning: 'is at most', isMet: numeric((a, b) => a <= b) },
  greaterThan: { takes: 'order', meaning: 'is above', isMet: numeric((a, b) => a > b) },
  greaterThanInclusive: { takes: 'order', meaning: 'is at least', isMet: numeric((a, b) => a >= b) },
  in: { takes: 'list', meaning: 'is one of', isMet: (a, b) => isScalar(a) && Array.isArray(b) && b.includes(a) },
  notIn: {
    takes: 'list',
    meaning: 'is known and is none of',
    isMet: (a, b) => isScalar(a) && Array.isArray(b) && !b.includes(a),
  },
  known: {
    takes: 'presence',
    meaning: 'is known (true) or unknown (false)',
    isMet: (a, b) => typeof b === 'boolean' && isScalar(a) === b,
  },
} as const satisfies Readonly<Record<string, Operator>>

/** Facts are plain values, so of the engine's decorators only the negation has a meaning. */
export const NEGATION = 'not:'

/** The operator of a name, `not:` in front or not; undefined for any other. */
export function operatorNamed(name: string): (Operator & { readonly negated: boolean }) | undefined {
  const negated = name.startsWith(NEGATION)
  const base = negated ? name.slice(NEGATION.length) : name
  const found: Operator | undefined = Object.entries(OPERATORS).find(([known]) => known === base)?.[1]
  return found === undefined ? undefined : { ...found, negated }
}

/** All names that rules may use. */
export const operatorNames = (): string[] => Object.keys(OPERATORS).flatMap((name) => [name, `${NEGATION}${name}`])

/** Gives an engine our operators in place of its own, and takes from it what rules may not use. */
export function useStrictOperators(engine: Engine): void {
  for (const name of ['contains', 'doesNotContain']) engine.removeOperator(name)
  for (const name of ['someFact', 'someValue', 'everyFact', 'everyValue', 'swap']) engine.removeOperatorDecorator(name)
  for (const [name, { isMet }] of Object.entries(OPERATORS)) engine.addOperator(name, isMet)
}
