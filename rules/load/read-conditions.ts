/**
 * Reads the conditions of a rule. Refuses what json-rules-engine would accept and then misread, or fail on at run time:
 *
 * - unknown facts and operators
 * - empty groups, which are always met
 * - several keys in one node
 * - JSONPath
 * - operands of another type
 * - negations that are met by unknown values
 */

import { didYouMean } from '../../domain/did-you-mean.ts'
import { NEGATION, operatorNames } from '../../domain/rules/operators.ts'
import type { SubjectKind } from '../../domain/watchdog/subject.ts'
import { type Condition, type Group, isReference, type Leaf } from '../conditions.ts'
import { operatorNamed } from '../engine/operators.ts'
import type { Fact } from '../facts.ts'
import { BOUNDS } from '../rule-file.ts'
import { below, hintForFact, isRecord, type Report } from './faults.ts'
import { readOperand } from './read-operand.ts'

export interface SharedSource {
  readonly subject: SubjectKind
  readonly conditions: unknown
  readonly report: Report
}

/** The reader's place in a rule. */
interface Place {
  readonly subject: SubjectKind
  /** Those of its subjects. */
  readonly facts: ReadonlyMap<string, Fact>
  readonly shared: ReadonlyMap<string, SharedSource>
  readonly report: Report
  readonly pointer: string
  readonly depth: number
  /** Counts the conditions of the rule. */
  readonly count: { nodes: number }
  /** Names of the shared conditions around the place, outermost first. */
  readonly inside: readonly string[]
  /** Facts that a sibling of this place, or of a group around it, requires to be known. */
  readonly known: ReadonlySet<string>
  readonly negated: boolean
}

const KINDS = ['all', 'any', 'not', 'condition', 'fact'] as const
const FIELDS = {
  all: ['all', 'priority'],
  any: ['any', 'priority'],
  not: ['not', 'priority'],
  condition: ['condition', 'priority'],
  fact: ['fact', 'operator', 'value', 'priority'],
} as const

/** Reads conditions, with shared ones in their place, and reports every fault. @returns undefined if there is one */
export function readConditions(
  value: unknown,
  pointer: string,
  rule: Pick<Place, 'subject' | 'facts' | 'shared' | 'report' | 'inside'>,
): Group | undefined {
  const place = { ...rule, pointer, depth: 1, count: { nodes: 0 }, known: new Set<string>(), negated: false }
  const found = readNode(value, place)
  if (found === undefined || !('fact' in found)) return found
  rule.report(pointer, value, 'a group at the top: all, any, not or condition', 'put the comparison into {"all": […]}')
  return undefined
}

function readNode(value: unknown, place: Place): Condition | undefined {
  const { pointer, report, count } = place
  if (!isRecord(value)) {
    report(pointer, value, 'a condition: an object with one of all, any, not, condition, fact')
    return undefined
  }
  count.nodes += 1
  if (count.nodes > BOUNDS.nodes) {
    if (count.nodes === BOUNDS.nodes + 1) report(pointer, count.nodes, `at most ${BOUNDS.nodes} conditions in a rule`)
    return undefined
  }
  if (place.depth > BOUNDS.depth) {
    report(pointer, place.depth, `conditions nested at most ${BOUNDS.depth} deep`)
    return undefined
  }
  const kinds = KINDS.filter((kind) => Object.hasOwn(value, kind))
  const [kind] = kinds
  if (kind === undefined || kinds.length > 1) {
    const strange = Object.keys(value).find((key) => !['operator', 'value', 'priority'].includes(key))
    report(
      pointer,
      Object.keys(value),
      'exactly one of all, any, not, condition, fact',
      kinds.length === 0 && strange !== undefined ? didYouMean(strange, KINDS) : undefined,
    )
    return undefined
  }
  const fieldsFit = checkFields(value, FIELDS[kind], place)
  const order = readPriority(value, place)
  const node = kind === 'fact' ? readLeaf(value, place) : readGroup(kind, value[kind], place)
  return fieldsFit && order !== undefined && node !== undefined ? { ...node, ...order } : undefined
}

function checkFields(value: Readonly<Record<string, unknown>>, fields: readonly string[], place: Place): boolean {
  const strangers = Object.keys(value).filter((key) => !fields.includes(key))
  for (const key of strangers) {
    const plain = key === 'path' || key === 'params'
    const hint = plain ? 'facts are plain values: compare the fact itself' : didYouMean(key, fields)
    place.report(below(place.pointer, key), key, `one of the fields ${fields.join(', ')}`, hint)
  }
  return strangers.length === 0
}

function readPriority(value: Readonly<Record<string, unknown>>, place: Place): { priority?: number } | undefined {
  const { priority } = value
  if (!Object.hasOwn(value, 'priority')) return {}
  if (typeof priority === 'number' && Number.isInteger(priority) && priority >= 1 && priority <= 1000)
    return { priority }
  place.report(below(place.pointer, 'priority'), priority, 'a whole number from 1 to 1000')
  return undefined
}

function readGroup(kind: 'all' | 'any' | 'not' | 'condition', inner: unknown, place: Place): Condition | undefined {
  const down = { ...place, pointer: below(place.pointer, kind), depth: place.depth + 1 }
  if (kind === 'condition') return readShared(inner, { ...down, depth: place.depth })
  if (kind === 'not') {
    const node = readNode(inner, { ...down, negated: true })
    return node === undefined ? undefined : { not: node }
  }
  if (!Array.isArray(inner) || inner.length === 0) {
    place.report(down.pointer, inner, 'a list of at least one condition', 'the engine would let an empty group hold')
    return undefined
  }
  // Inside a negation, a sibling's "known" is negated too, so it guarantees nothing.
  const siblings = kind === 'all' && !place.negated ? inner.flatMap(saidToBeKnown) : []
  const known = new Set([...place.known, ...siblings])
  const nodes = inner.map((node: unknown, n) => readNode(node, { ...down, pointer: below(down.pointer, n), known }))
  const read = nodes.filter((node) => node !== undefined)
  if (read.length < nodes.length) return undefined
  return kind === 'all' ? { all: read } : { any: read }
}

const saidToBeKnown = (node: unknown): string[] =>
  isRecord(node) && node.operator === 'known' && node.value === true && typeof node.fact === 'string' ? [node.fact] : []

function readShared(name: unknown, place: Place): Group | undefined {
  const { pointer, report, shared, inside, subject } = place
  const found = typeof name === 'string' ? shared.get(name) : undefined
  if (typeof name !== 'string' || found === undefined) {
    const hint = typeof name === 'string' ? didYouMean(name, shared.keys()) : undefined
    report(pointer, name, 'the name of a shared condition, a file in the folder conditions', hint)
    return undefined
  }
  if (inside.includes(name)) {
    report(pointer, name, `conditions that do not come back to themselves: ${[...inside, name].join(' → ')}`)
    return undefined
  }
  if (found.subject !== subject) {
    report(
      pointer,
      name,
      `a shared condition for the subject ${subject}`,
      `${name} is for the subject ${found.subject}`,
    )
    return undefined
  }
  const node = readNode(found.conditions, {
    ...place,
    pointer: '/conditions',
    report: found.report,
    inside: [...inside, name],
  })
  if (node === undefined || 'fact' in node) return undefined
  // The engine uses the priority of a reference, never that of the shared conditions.
  const { priority: _, ...group } = node
  return group
}

function readLeaf(value: Readonly<Record<string, unknown>>, place: Place): Leaf | undefined {
  const fact = readFact(value.fact, below(place.pointer, 'fact'), place)
  const operator = readOperator(value.operator, place)
  if (fact === undefined || operator === undefined) return undefined
  const operand = readOperand(value.value, { fact, operator, pointer: below(place.pointer, 'value'), place, readFact })
  if (operand === undefined) return undefined
  const leaf = { fact: fact.name, operator: operator.name, value: operand }
  return mayBeNegated(leaf, operator, place) ? leaf : undefined
}

/** Finds the subject's fact with this name; reports any other name. */
function readFact(
  name: unknown,
  pointer: string,
  { subject, facts, report }: Pick<Place, 'subject' | 'facts' | 'report'>,
) {
  const found = typeof name === 'string' ? facts.get(name) : undefined
  const hint = found === undefined && typeof name === 'string' ? hintForFact(name, subject) : undefined
  if (found === undefined) report(pointer, name, `a fact of the subject ${subject}`, hint)
  return found
}

function readOperator(name: unknown, { pointer, report }: Place) {
  const found = typeof name === 'string' ? operatorNamed(name) : undefined
  if (typeof name === 'string' && found !== undefined) return { name, ...found }
  const hint = typeof name === 'string' ? didYouMean(name, operatorNames()) : undefined
  const expected = `one of ${operatorNames()
    .filter((each) => !each.startsWith(NEGATION))
    .join(', ')}, or one of them behind ${NEGATION}`
  report(below(pointer, 'operator'), name, expected, hint)
  return undefined
}

/** Only known facts may be negated: a comparison with null is never met, so its negation would be. */
function mayBeNegated(leaf: Leaf, operator: { takes: string; negated: boolean }, place: Place): boolean {
  if ((!place.negated && !operator.negated) || operator.takes === 'presence') return true
  const { facts } = place
  const read = isReference(leaf.value) ? [leaf.fact, leaf.value.fact] : [leaf.fact]
  const unknown = read.find((name) => facts.get(name)?.nullable === true && !place.known.has(name))
  if (unknown === undefined) return true
  place.report(
    place.pointer,
    { ...leaf },
    `a sibling that says that ${unknown} is known, because the negation would hold where it is not`,
    `add {"fact": "${unknown}", "operator": "known", "value": true} beside it in an "all", outside the negation`,
  )
  return false
}
