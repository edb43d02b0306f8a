import { describe, expect, test } from 'vitest'
import {
  COMPARISONS,
  type Comparisons,
  type CompiledComparison,
  NO,
  UNKNOWN,
  YES,
} from '../../../../rules/compile/comparisons.ts'
import { compileConditions } from '../../../../rules/compile/compile-conditions.ts'
import { type FactRow, rowOf } from '../../../../rules/compile/fact-row.ts'
import { factsRead, type Group } from '../../../../rules/conditions.ts'
import { decideRule } from '../../../../rules/engine/evaluate-subject.ts'
import { type Facts, factsOf } from '../../../../rules/facts.ts'
import { readConditions } from '../../../../rules/load/read-conditions.ts'
import { cases } from '../../../setup/cases.ts'
import { type Random, randomFrom, SEED } from '../../../setup/seed.ts'
import { aGroup, aValue, BASES, NAMES, someFacts } from './cases.ts'

/** Rows for each of the conditions. */
const ROWS = 5
const CONDITIONS = cases(20_000)
/** Of so many cases one is also asked of the engine without the fact that is missing, and with another value. */
const ASKED_AGAIN = 20

interface Case {
  readonly group: Group
  readonly facts: Facts
  /** What the engine says. */
  readonly met: boolean
  /** A fact that the conditions read; undefined if they read none. */
  readonly left: string | undefined
}

const without = (facts: Facts, name: string): Facts =>
  Object.fromEntries(Object.entries(facts).filter(([each]) => each !== name))
const answerOf = (isMet: boolean) => (isMet ? YES : NO)
const shown = ({ group, facts, met }: Case, answer: number) =>
  `seed ${SEED}: engine ${met}, compiled ${answer}: ${JSON.stringify(group)} of ${JSON.stringify(facts)}`

async function caseOf(group: Group, random: Random): Promise<Case> {
  const facts = someFacts(random)
  const { met } = await decideRule(group, facts)
  const read = factsRead(group)
  return { group, facts, met, left: read.length === 0 ? undefined : random.pick(read) }
}

async function casesOf(seed: number, conditions: number): Promise<Case[]> {
  const random = randomFrom(seed)
  const cases: Case[] = []
  for (let n = 0; n < conditions; n += 1) {
    const group = aGroup(random)
    for (let each = 0; each < ROWS; each += 1) cases.push(await caseOf(group, random))
  }
  return cases
}

/** The first case for which conditions compiled with these comparisons give a wrong answer. */
function firstDifference(cases: readonly Case[], comparisons: Comparisons): Case | undefined {
  // The cases of a group follow each other.
  let [last, compiled] = [cases[0]?.group, cases[0] && compileConditions(cases[0].group, 'sim', comparisons)]
  return cases.find(({ group, facts, met, left }) => {
    if (group !== last) [last, compiled] = [group, compileConditions(group, 'sim', comparisons)]
    if (compiled === undefined) return false
    if (compiled.decide(rowOf(facts)) !== answerOf(met)) return true
    if (left === undefined) return false
    const answer = compiled.decide(rowOf(without(facts, left)))
    return answer !== UNKNOWN && answer !== answerOf(met)
  })
}

describe('compileConditions', () => {
  test('answers every case as the engine', { timeout: 0 }, async () => {
    const random = randomFrom(SEED)
    const seen = { cases: 0, met: 0, missing: 0, decidedWithout: 0 }
    for (let n = 0; n < CONDITIONS; n += 1) {
      const group = aGroup(random)
      const compiled = compileConditions(group, 'sim')
      for (let each = 0; each < ROWS; each += 1) {
        const one = await caseOf(group, random)
        const answer = compiled.decide(rowOf(one.facts))
        if (answer !== answerOf(one.met)) expect.fail(shown(one, answer))
        seen.cases += 1
        seen.met += one.met ? 1 : 0
        if (one.left === undefined) continue
        const known = compiled.decide(rowOf(without(one.facts, one.left)))
        seen.missing += 1
        if (known === UNKNOWN) continue
        seen.decidedWithout += 1
        if (known !== answer) expect.fail(`without ${one.left}: ${shown(one, known)}`)
        for (let other = 0; other < 3; other += 1) {
          const facts: Facts = { ...one.facts, [one.left]: aValue(random) }
          const full = compiled.decide(rowOf(facts))
          if (full !== known) expect.fail(`with another ${one.left}: ${shown({ ...one, facts }, full)}`)
          if (seen.cases % ASKED_AGAIN !== 0) continue
          const { met } = await decideRule(group, facts)
          if (answerOf(met) !== known)
            expect.fail(`engine with another ${one.left}: ${shown({ ...one, facts }, known)}`)
        }
      }
    }

    expect(seen.cases).toBe(CONDITIONS * ROWS)
    expect(seen.met / seen.cases).toBeGreaterThan(0.2)
    expect(seen.met / seen.cases).toBeLessThan(0.8)
    expect(seen.decidedWithout / seen.missing).toBeGreaterThan(0.2)
    expect(seen.decidedWithout / seen.missing).toBeLessThan(0.9)
  })

  test('answers named conditions as the engine', { timeout: 0 }, async () => {
    const random = randomFrom(SEED + 1)
    let accepted = 0
    while (accepted < 500) {
      const { group, faults } = namedGroup(random)
      if (group === undefined || faults > 0) continue
      accepted += 1
      const compiled = compileConditions(group, 'sim')
      for (let each = 0; each < ROWS; each += 1) {
        const one = await caseOf(group, random)
        const answer = compiled.decide(rowOf(one.facts))
        if (answer !== answerOf(one.met)) expect.fail(shown(one, answer))
      }
    }
  })

  test('refuses facts and operators that do not exist', () => {
    expect(() => compileConditions({ fact: 'usagPct', operator: 'equal', value: 1 }, 'sim')).toThrow('usagPct')
    expect(() => compileConditions({ fact: 'feedAgeMinutes', operator: 'equal', value: 1 }, 'sim')).toThrow(
      'subject sim',
    )
    expect(() => compileConditions({ fact: 'usagePct', operator: 'swap:equal', value: 1 }, 'sim')).toThrow('swap:equal')
  })
})

/** A rule's conditions with references to two shared ones, one inside the other, read by the load gate. */
function namedGroup(random: Random) {
  let faults = 0
  const report = () => {
    faults += 1
  }
  const value = () => random.pick([0, 1, 2, 5, 80])
  const leaf = () => ({
    fact: random.pick(NAMES.slice(0, 4)),
    operator: random.pick(['lessThan', 'equal']),
    value: value(),
  })
  const priority = () => (random.chance(0.5) ? {} : { priority: 1 + random.below(5) })
  const inner = { subject: 'sim' as const, report, conditions: { any: [leaf(), leaf()] } }
  const outer = {
    subject: 'sim' as const,
    report,
    conditions: { [random.pick(['all', 'any'])]: [{ condition: 'inner', ...priority() }, leaf()] },
  }
  const shared = new Map([
    ['inner', inner],
    ['outer', outer],
  ])
  const asked = {
    all: [{ ...leaf(), ...priority() }, { any: [{ condition: 'outer', ...priority() }, { condition: 'inner' }] }],
  }
  return {
    group: readConditions(asked, '', { subject: 'sim', facts: factsOf('sim'), shared, report, inside: [] }),
    faults,
  }
}

describe('the differential test', { timeout: 0 }, () => {
  type Test = (a: any, b: any) => boolean
  const scalar: Test = (a) => ['string', 'boolean'].includes(typeof a) || Number.isFinite(a)
  /** Each operator, wrong only at an edge. */
  const WRONG: Record<(typeof BASES)[number], Test> = {
    // biome-ignore lint/suspicious/noDoubleEquals: this is the mistake
    equal: (a, b) => a == b,
    notEqual: (a, b) => scalar(a, b) && a !== b,
    lessThan: (a, b) => typeof a === 'number' && typeof b === 'number' && a <= b,
    lessThanInclusive: (a, b) => typeof a === 'number' && typeof b === 'number' && a < b,
    greaterThan: (a, b) => typeof a === 'number' && typeof b === 'number' && a >= b,
    greaterThanInclusive: (a, b) => typeof a === 'number' && typeof b === 'number' && a > b,
    in: (a, b) => Array.isArray(b) && b.includes(a),
    notIn: (a, b) => Array.isArray(b) && !b.includes(a),
    known: (a, b) => (a !== null) === b,
  }
  /** A fact is a list only if it is ill-typed. */
  const WRONG_WITH_FACT = { ...WRONG, in: (a: any, b: any) => scalar(a, b) && Array.isArray(b), notIn: () => false }
  const withValue =
    (isMet: Test): CompiledComparison['withValue'] =>
    (place, operand, { met, unmet }) =>
    (row: FactRow) => {
      const value = row[place]
      if (value === undefined) return UNKNOWN
      return isMet(value, operand) ? met : unmet
    }
  const breaks: Record<string, (right: CompiledComparison, wrong: Test, wrongWithFact: Test) => CompiledComparison> = {
    'wrong at an edge, with a value': (right, wrong) => ({ ...right, withValue: withValue(wrong) }),
    'wrong at an edge, with a fact': (right, _, wrongWithFact) => ({ ...right, isMet: wrongWithFact }),
    'deaf to its negation': (right) => ({
      ...right,
      withValue: (place, operand) => right.withValue(place, operand, { met: YES, unmet: NO }),
    }),
    'unmet by a fact that was not read': (right) => ({
      ...right,
      withValue: (place, operand, ends) => {
        const answer = right.withValue(place, operand, ends)
        return (row) => (row[place] === undefined ? ends.unmet : answer(row))
      },
    }),
  }
  // Always the same cases: a rare mistake must not escape by chance.
  const cases = casesOf(1, 3000)

  test('finds nothing in the operators as they are', async () => {
    expect(firstDifference(await cases, COMPARISONS)).toBeUndefined()
  })

  test.each(BASES.flatMap((name) => Object.keys(breaks).map((how) => [name, how] as const)))(
    'finds %s %s',
    async (name, how) => {
      const broken = { ...COMPARISONS, [name]: breaks[how]!(COMPARISONS[name], WRONG[name], WRONG_WITH_FACT[name]) }

      expect(firstDifference(await cases, broken)).toBeDefined()
    },
  )
})
