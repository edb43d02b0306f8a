/**
 * The compiled rules and three rule engines, each given the same conditions and the same facts of SIMs.
 *
 * What is left out for @gorules/zen-engine and json-logic-engine: facts that were not read. Neither has an answer
 * "unknown" for them, so every subject has all its facts here. Their comparisons are guarded for null, because null
 * meets none of ours: zen-engine would fail, and json-logic-engine would take it for 0. Priorities are left out too:
 * they change no answer. Explanations come from json-rules-engine only.
 */

import { ZenEngine } from '@gorules/zen-engine'
import { LogicEngine } from 'json-logic-engine'
import { Engine } from 'json-rules-engine'
import { YES } from '../../rules/compile/comparisons.ts'
import { compileSet } from '../../rules/compile/compile-set.ts'
import { type FactRow, placeOfFact, ROW_LENGTH, rowOf } from '../../rules/compile/fact-row.ts'
import { type Condition, factsRead, forEngine, isReference, type Leaf } from '../../rules/conditions.ts'
import { operatorNamed, useStrictOperators } from '../../rules/engine/operators.ts'
import { type Facts, factsOf } from '../../rules/facts.ts'
import type { Rule } from '../../rules/rule.ts'

/** Facts of a subject, in the two forms left out of the measurement. */
export interface BenchSubject {
  readonly facts: Facts
  readonly row: FactRow
}
export const benchSubject = (facts: Facts): BenchSubject => ({ facts, row: rowOf(facts) })

export interface Contender {
  readonly name: string
  /** Decides all rules for some subjects, one after the other. @returns the number of rules that are met */
  readonly run: (subjects: readonly BenchSubject[]) => Promise<number>
  /** Numbers of the rules that one subject meets, ascending. */
  readonly met: (subject: BenchSubject) => Promise<number[]>
}

const numbersOf = (answers: readonly boolean[]): number[] => answers.flatMap((isMet, n) => (isMet ? [n] : []))

/** Our closures over a row. @param fills whether a row is filled from the facts first, as a sweep does */
export function compiledRules(rules: readonly Rule[], fills: boolean): Contender {
  const decides = compileSet({ rules }).rules.map(({ holds }) => holds)
  const places = [...factsOf('sim').keys()].map((name) => ({ name, place: placeOfFact(name) }))
  const reused = Array.from<FactRow[number]>({ length: ROW_LENGTH })
  const filled = ({ facts }: BenchSubject): FactRow => {
    for (const { name, place } of places) reused[place] = facts[name]
    return reused
  }
  return {
    name: fills ? 'compiled, row filled' : 'compiled',
    async run(subjects) {
      let met = 0
      for (const subject of subjects) {
        const row = fills ? filled(subject) : subject.row
        for (const decide of decides) if (decide(row) === YES) met += 1
      }
      return met
    },
    met: async (subject) => numbersOf(decides.map((decide) => decide(fills ? filled(subject) : subject.row) === YES)),
  }
}

/** An engine, reused. It gets only the facts read by rules, because it hashes every fact in every run. */
export function jsonRulesEngine(rules: readonly Rule[]): Contender {
  const engine = new Engine(
    rules.map(({ conditions }, n) => ({ name: String(n), conditions: forEngine(conditions), event: { type: 'met' } })),
  )
  useStrictOperators(engine)
  const names = [...new Set(rules.flatMap(({ conditions }) => factsRead(conditions)))]
  const given = new WeakMap<BenchSubject, Record<string, unknown>>()
  const factsFor = (subject: BenchSubject) => {
    const known = given.get(subject) ?? Object.fromEntries(names.map((name) => [name, subject.facts[name]]))
    given.set(subject, known)
    return known
  }
  return {
    name: 'json-rules-engine',
    async run(subjects) {
      let met = 0
      for (const subject of subjects) met += (await engine.run(factsFor(subject))).results.length
      return met
    },
    async met(subject) {
      const { results } = await engine.run(factsFor(subject))
      return results.map(({ name }) => Number(name)).toSorted((a, b) => a - b)
    },
  }
}

/** A decision with an expression for each rule. */
export function zenEngine(rules: readonly Rule[]): Contender {
  const expressions = rules.map(({ conditions }, n) => ({ id: `${n}`, key: `rule${n}`, value: zenOf(conditions) }))
  const at = { position: { x: 0, y: 0 } }
  const decision = new ZenEngine().createDecision({
    nodes: [
      { id: 'in', type: 'inputNode', name: 'in', ...at },
      { id: 'rules', type: 'expressionNode', name: 'rules', content: { expressions }, ...at },
      { id: 'out', type: 'outputNode', name: 'out', ...at },
    ],
    edges: [
      { id: 'first', sourceId: 'in', targetId: 'rules' },
      { id: 'second', sourceId: 'rules', targetId: 'out' },
    ],
  })
  const answersOf = async ({ facts }: BenchSubject): Promise<boolean[]> => {
    const { result }: { result: Readonly<Record<string, unknown>> } = await decision.evaluate(facts)
    return expressions.map(({ key }) => result[key] === true)
  }
  return {
    name: '@gorules/zen-engine',
    async run(subjects) {
      let met = 0
      for (const subject of subjects) met += (await answersOf(subject)).filter(Boolean).length
      return met
    },
    met: async (subject) => numbersOf(await answersOf(subject)),
  }
}

/** A generated function for each rule. */
export function jsonLogicEngine(rules: readonly Rule[]): Contender {
  const engine = new LogicEngine()
  const decides = rules.map(({ conditions }) => engine.build(logicOf(conditions)))
  return {
    name: 'json-logic-engine',
    async run(subjects) {
      let met = 0
      for (const { facts } of subjects) for (const decide of decides) if (decide(facts) === true) met += 1
      return met
    },
    met: async ({ facts }) => numbersOf(decides.map((decide) => decide(facts) === true)),
  }
}

/** Signs of the operators, the same in both languages but for equality. */
const SIGNS: Readonly<Record<string, string>> = {
  lessThan: '<',
  lessThanInclusive: '<=',
  greaterThan: '>',
  greaterThanInclusive: '>=',
  equal: '==',
  notEqual: '!=',
}

function signOf({ operator }: Leaf): string {
  const sign = SIGNS[operator]
  // The rules of the bench have no other: `in` and `known` could be said in both languages, and `not:` too.
  if (sign === undefined || operatorNamed(operator)?.negated !== false) {
    throw new Error(`got the operator ${operator}, expected one of ${Object.keys(SIGNS).join(', ')}`)
  }
  return sign
}

/** The nullable facts of a comparison. */
const nullableOf = (leaf: Leaf): string[] =>
  factsRead(leaf).filter((name) => factsOf('sim').get(name)?.nullable === true)

function zenOf(condition: Condition): string {
  if ('all' in condition) return condition.all.map((inner) => `(${zenOf(inner)})`).join(' and ')
  if ('any' in condition) return condition.any.map((inner) => `(${zenOf(inner)})`).join(' or ')
  if ('not' in condition) return `not (${zenOf(condition.not)})`
  const { value } = condition
  const operand = isReference(value) ? value.fact : JSON.stringify(value)
  const guards = nullableOf(condition).map((name) => `${name} != null`)
  return [...guards, `${condition.fact} ${signOf(condition)} ${operand}`].join(' and ')
}

type Logic = Readonly<Record<string, unknown>>

function logicOf(condition: Condition): Logic {
  if ('all' in condition) return { and: condition.all.map(logicOf) }
  if ('any' in condition) return { or: condition.any.map(logicOf) }
  if ('not' in condition) return { '!': [logicOf(condition.not)] }
  const { fact, value } = condition
  const sign = signOf(condition).replace('==', '===').replace('!=', '!==')
  const comparison = { [sign]: [{ var: fact }, isReference(value) ? { var: value.fact } : value] }
  const guards = nullableOf(condition).map((name) => ({ '!==': [{ var: name }, null] }))
  return guards.length === 0 ? comparison : { and: [...guards, comparison] }
}
