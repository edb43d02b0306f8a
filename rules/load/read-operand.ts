/**
 * Reads the operand of a comparison: a value, a list of values or another fact, of the fact's own type and unit. An
 * operand of a fact of time may be an ISO 8601 duration.
 */

import { unitMs } from '../../domain/quantity.ts'
import type { OperatorWords } from '../../domain/rules/operators.ts'
import { durationMs, isDuration } from '../../domain/time/duration.ts'
import type { SubjectKind } from '../../domain/watchdog/subject.ts'
import type { FactReference, Operand, Scalar } from '../conditions.ts'
import { type Fact, factsOf } from '../facts.ts'
import { BOUNDS } from '../rule-file.ts'
import { below, isRecord, type Report } from './faults.ts'

interface Place {
  readonly subject: SubjectKind
  /** Those of its subjects. */
  readonly facts: ReadonlyMap<string, Fact>
  readonly report: Report
}

interface OperandSource {
  readonly fact: Fact
  readonly operator: OperatorWords
  readonly pointer: string
  readonly place: Place
  readonly readFact: (name: unknown, pointer: string, place: Place) => Fact | undefined
}

const isNumeric = ({ type }: Fact): boolean => type === 'number' || type === 'integer'
const unitOf = ({ unit }: Fact): string => (unit === null ? '' : ` in ${unit}`)
const kindOf = (fact: Fact): string => (isNumeric(fact) ? `number${unitOf(fact)}` : fact.type)

/** Reads an operand, and reports one that does not fit. @returns undefined if it does not fit */
export function readOperand(value: unknown, asked: OperandSource): Operand | undefined {
  const { fact, operator, pointer, place } = asked
  const refuse = (expected: string, hint?: string): undefined => {
    place.report(pointer, value, expected, hint)
    return undefined
  }
  if (operator.takes === 'presence') return typeof value === 'boolean' ? value : refuse('true or false')
  if (value === null) return refuse('a value: null compares with nothing', 'to ask for it use the operator known')
  if (operator.takes === 'order' && !isNumeric(fact)) {
    return refuse(
      `another operator: ${fact.name} is a ${fact.type} and has no order`,
      'use equal, notEqual, in or notIn',
    )
  }
  if (operator.takes === 'list') return readList(value, asked)
  if (isRecord(value)) return readReference(value, asked)
  const read = readScalar(value, fact)
  return read ?? refuse(expectedOf(fact), hintForCode(value, fact, place))
}

function expectedOf(fact: Fact): string {
  if (fact.codes !== null) return `a code of ${fact.name}: ${codesOf(fact.codes)}`
  if (fact.form !== null) return `${fact.form.expected}, as ${fact.name} is, or {"fact": …}`
  const orDuration = unitMs(fact.unit) === undefined ? '' : ' a duration such as "PT36H"'
  return `a ${kindOf(fact)}, as ${fact.name} is,${orDuration} or {"fact": …}`
}

/** A hint for a code that only subjects have that the rule is not attached to. */
function hintForCode(value: unknown, { name, codes }: Fact, { subject }: Place): string | undefined {
  const all = Object.entries(factsOf(subject).get(name)?.codes ?? {})
  const label = codes === null ? undefined : all.find(([, code]) => code === value)?.[0]
  return label === undefined ? undefined : `the rule sees no ${label} SIM unless match.status names ${label}`
}

const codesOf = (codes: Readonly<Record<string, number>>): string =>
  Object.entries(codes)
    .map(([label, code]) => `${code} (${label})`)
    .join(', ')

function readScalar(value: unknown, fact: Fact): Scalar | undefined {
  if (isNumeric(fact)) {
    const ms = unitMs(fact.unit)
    if (typeof value === 'string' && ms !== undefined)
      return value.length <= BOUNDS.textChars && isDuration(value) ? durationMs(value) / ms : undefined
    if (typeof value !== 'number' || !Number.isFinite(value)) return undefined
    return fact.codes === null || Object.values(fact.codes).includes(value) ? value : undefined
  }
  if (fact.type === 'boolean') return typeof value === 'boolean' ? value : undefined
  const isText = typeof value === 'string' && value.length <= BOUNDS.textChars
  return isText && (fact.form === null || fact.form.pattern.test(value)) ? value : undefined
}

function readList(value: unknown, { fact, pointer, place }: OperandSource): readonly Scalar[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > BOUNDS.listItems) {
    place.report(pointer, value, `a list of 1 to ${BOUNDS.listItems} values, each ${expectedOf(fact)}`)
    return undefined
  }
  const read = value.flatMap((item: unknown, n): Scalar[] => {
    const scalar = readScalar(item, fact)
    if (scalar === undefined) place.report(below(pointer, n), item, expectedOf(fact), hintForCode(item, fact, place))
    return scalar === undefined ? [] : [scalar]
  })
  return read.length === value.length ? read : undefined
}

function readReference(value: Readonly<Record<string, unknown>>, asked: OperandSource): FactReference | undefined {
  const { fact, pointer, place, readFact } = asked
  const strangers = Object.keys(value).filter((key) => key !== 'fact')
  for (const key of strangers)
    place.report(below(pointer, key), key, 'only the field fact', 'facts are plain values: no path, no params')
  const other = readFact(value.fact, below(pointer, 'fact'), place)
  if (other === undefined || strangers.length > 0) return undefined
  const sameType = isNumeric(fact) ? isNumeric(other) : fact.type === other.type
  if (!sameType || fact.unit !== other.unit) {
    place.report(
      below(pointer, 'fact'),
      other.name,
      `a ${kindOf(fact)}, as ${fact.name} is`,
      `it is a ${kindOf(other)}`,
    )
    return undefined
  }
  return { fact: other.name }
}
