/** Comparisons and moves of facts as people read them. Pure. */
import { labelOf } from '../../domain/codes.ts'
import { instant } from '../../domain/local-time.ts'
import { quantity } from '../../domain/quantity.ts'
import type { Comparison } from '../../domain/rules/explanation.ts'
import type { FactValue } from '../../domain/watchdog/fact-value.ts'
import type { SubjectKind } from '../../domain/watchdog/subject.ts'
import type { LeafExplanation } from '../engine/evaluate-subject.ts'
import { operatorNamed } from '../engine/operators.ts'
import { factsOf } from '../facts.ts'
import { answered } from './leaves.ts'
import type { NearestMove } from './nearest-moves.ts'

const MOST_ITEMS = 10

/** A value of a fact: with its unit, codes by their label. @param others numbers that it must not read as */
function valueWords(
  fact: string,
  subject: SubjectKind,
  value: FactValue | readonly FactValue[],
  others: readonly unknown[] = [],
): string {
  if (value === null) return 'unknown'
  if (typeof value === 'object') {
    const shown = value.slice(0, MOST_ITEMS).map((item) => valueWords(fact, subject, item))
    return `${shown.join(', ')}${value.length > MOST_ITEMS ? `, and ${value.length - MOST_ITEMS} more` : ''}`
  }
  if (typeof value === 'string') return value === '' ? 'empty' : value
  if (typeof value === 'boolean') return String(value)
  const { unit = null, codes = null } = factsOf(subject).get(fact) ?? {}
  if (codes !== null) return labelOf(codes, value)
  return quantity(
    value,
    unit,
    others.filter((other) => typeof other === 'number'),
  )
}

/** A comparison with its answer: `usagePct is 76.8 %: not at least 80 % (warningThresholdPct)`. */
export function leafWords(leaf: LeafExplanation, subject: SubjectKind): string {
  const { fact, value, operator, operand, operandFact, result } = leaf
  const is = `${fact} is ${valueWords(fact, subject, value, [operand].flat())}`
  const named = operatorNamed(operator)
  if (named?.base === 'known') return is
  const comparison = named === undefined ? operator : `${named.negated ? 'not ' : ''}${named.inMail}`
  const with_ = operandFact === null ? '' : ` (${operandFact})`
  const than = `${comparison} ${valueWords(fact, subject, operand, [value])}${with_}`
  if (result === null) return `${is}: whether it is ${than} cannot be said`
  return `${is}: ${result ? '' : 'not '}${than}`
}

/** Comparisons with their answers and words. @param leaves as the engine gave them */
export const comparisonsOf = (leaves: readonly LeafExplanation[], subject: SubjectKind): Comparison[] =>
  answered(leaves, subject).map((leaf) => {
    const { fact, value, operator, operand, operandFact, result } = leaf
    return { fact, value, operator, operands: [operand].flat(), operandFact, result, words: leafWords(leaf, subject) }
  })

/** The required move of a fact: `usagePct rises by 3.2 % to 80 %`. */
export function moveWords({ fact, from, to, direction, by, isBeyond }: NearestMove, subject: SubjectKind): string {
  if (to === null) return `${fact} becomes another than ${valueWords(fact, subject, from)}`
  const target = valueWords(fact, subject, to, [from])
  const where = isBeyond ? `${direction === 'falls' ? 'below' : 'above'} ${target}` : `to ${target}`
  if (from === null) return `${fact} becomes known, ${isBeyond ? where : `at ${target}`}`
  if (direction === 'becomes') return `${fact} becomes ${target}`
  if (by === null || by === 0) return `${fact} ${direction} ${where}`
  const change = valueWords(fact, subject, by)
  return `${fact} ${direction} by ${isBeyond ? `more than ${change},` : change} ${where}`
}

export const inTimeWords = (at: number, timeZone: string): string => `at ${instant(at, timeZone)} if nothing comes`
