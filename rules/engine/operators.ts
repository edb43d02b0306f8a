/**
 * Operators of rules, under json-rules-engine's own names, but strict. The engine's own operators count `3 >= null` as
 * met, read the text `'5'` as a number, and throw on a wrong list. With these, a value that is null or of the wrong
 * type meets no comparison except `known: false`, before any negation.
 */
import type { Engine } from 'json-rules-engine'
import { isOperator, NEGATION, OPERATORS, type OperatorName, type OperatorWords } from '../../domain/rules/operators.ts'

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)
const isScalar = (value: unknown): boolean => isNumber(value) || typeof value === 'string' || typeof value === 'boolean'
const alike = (a: unknown, b: unknown): boolean => isScalar(a) && typeof a === typeof b && isScalar(b)

const numeric = (isMet: (a: number, b: number) => boolean) => (a: unknown, b: unknown) =>
  isNumber(a) && isNumber(b) && isMet(a, b)

const IS_MET: Readonly<Record<OperatorName, (fact: unknown, operand: unknown) => boolean>> = {
  equal: (a, b) => alike(a, b) && a === b,
  notEqual: (a, b) => alike(a, b) && a !== b,
  lessThan: numeric((a, b) => a < b),
  lessThanInclusive: numeric((a, b) => a <= b),
  greaterThan: numeric((a, b) => a > b),
  greaterThanInclusive: numeric((a, b) => a >= b),
  in: (a, b) => isScalar(a) && Array.isArray(b) && b.includes(a),
  notIn: (a, b) => isScalar(a) && Array.isArray(b) && !b.includes(a),
  known: (a, b) => typeof b === 'boolean' && isScalar(a) === b,
}

export interface NamedOperator extends OperatorWords {
  /** Its name without the prefix `not:`. */
  readonly base: OperatorName
  readonly negated: boolean
}

/** The operator with this name, with or without the prefix `not:`; undefined for any other name. */
export function operatorNamed(name: string): NamedOperator | undefined {
  const negated = name.startsWith(NEGATION)
  const base = negated ? name.slice(NEGATION.length) : name
  return isOperator(base) ? { ...OPERATORS[base], base, negated } : undefined
}

/** Replaces an engine's operators by ours, and removes those that rules may not use. */
export function useStrictOperators(engine: Engine): void {
  for (const name of ['contains', 'doesNotContain']) engine.removeOperator(name)
  for (const name of ['someFact', 'someValue', 'everyFact', 'everyValue', 'swap']) engine.removeOperatorDecorator(name)
  for (const [name, isMet] of Object.entries(IS_MET)) engine.addOperator(name, isMet)
}
