/** Whole rules made at random: compiled they answer as the engine does, about subjects of every kind, part by part. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LogLevel, SimStatus } from '../../../../domain/codes.ts'
import { type OPERATORS, operatorNames } from '../../../../domain/rules/operators.ts'
import { SUBJECT_KINDS, type SubjectKind } from '../../../../domain/watchdog/subject.ts'
import { COMPARISONS, NO, UNKNOWN, YES } from '../../../../rules/compile/comparisons.ts'
import type { CompiledRule } from '../../../../rules/compile/compile-rule.ts'
import { type CompiledSet, compileSet, readsOf } from '../../../../rules/compile/compile-set.ts'
import { type FactRow, filling, rowOf } from '../../../../rules/compile/fact-row.ts'
import type { Group } from '../../../../rules/conditions.ts'
import { evaluateSubject, type RuleOutcome } from '../../../../rules/engine/evaluate-subject.ts'
import { type MatchProperties, rulesFor } from '../../../../rules/engine/match.ts'
import { operatorNamed } from '../../../../rules/engine/operators.ts'
import { type Facts, factsOf } from '../../../../rules/facts.ts'
import { type Ladder, withFirstStep } from '../../../../rules/ladder.ts'
import { loadRuleSet } from '../../../../rules/load/load-rule-set.ts'
import type { Rule } from '../../../../rules/rule.ts'
import { cases } from '../../../setup/cases.ts'
import { randomFrom } from '../../../setup/seed.ts'
import { aRule, conditionsOver, LADDERS, shippedFiles } from '../samples.ts'
import { differencesBetween, PARTS, type RuleDifference } from './differences.ts'
import { aSubject } from './subjects.ts'

const RUNS = cases(3000, 300)
const shipped = (await loadRuleSet([...shippedFiles(), ...LADDERS])).rules
const some = await aRule()

/** A subject with all its facts, rules made for it, and the facts that a narrow look leaves out. */
interface Case {
  readonly to: MatchProperties
  readonly facts: Facts
  readonly rules: readonly Rule[]
  readonly left: readonly string[]
}

const USUAL = [0, 1, 5, 80, true, false, '', 'a', 'Vans']
/** Values that the facts of a subject have, and a few others. */
const valuesOf = (facts: Facts) => [...USUAL, ...Object.values(facts).filter((value) => value !== null)]

function groupsOf(kind: SubjectKind, facts: Facts): fc.Arbitrary<Group> {
  const fact = fc.constantFrom(...factsOf(kind).keys())
  const value = fc.constantFrom(...valuesOf(facts))
  const fitting = {
    order: value,
    equality: value,
    list: fc.array(value, { maxLength: 5 }),
    presence: fc.boolean(),
  } satisfies Record<(typeof OPERATORS)[keyof typeof OPERATORS]['takes'], unknown>
  const comparison = fc.constantFrom(...operatorNames()).chain((operator) =>
    fc.record({
      fact,
      operator: fc.constant(operator),
      value: fc.oneof(
        { weight: 3, arbitrary: fitting[operatorNamed(operator)?.takes ?? 'order'] },
        fact.map((other) => ({ fact: other })),
      ),
    }),
  )
  return conditionsOver(comparison).group
}

function laddersOf(kind: SubjectKind, facts: Facts): fc.Arbitrary<Ladder> {
  const numbers = [...factsOf(kind).values()].filter(({ type }) => type === 'number' || type === 'integer')
  const at = fc.constantFrom(
    ...valuesOf(facts)
      .filter((value) => Number.isFinite(value))
      .map(Number),
    50,
    100,
  )
  return fc
    .record({
      fact: fc.constantFrom(...numbers.map(({ name }) => name)),
      ats: fc.uniqueArray(at, { minLength: 1, maxLength: 3 }),
      every: fc.option(fc.constantFrom(7, 25)),
    })
    .map(({ fact, ats, every }) => {
      const [first = 0, ...others] = ats.toSorted((a, b) => a - b)
      const stepAt = (each: number) => ({ at: each, level: LogLevel.Info })
      return { fact, steps: [stepAt(first), ...others.map(stepAt)], every }
    })
}

const patterns = {
  tenant: fc.constantFrom('*', 't*', 'u*'),
  pool: fc.constantFrom('Van*', '*s', 'Cars'),
  tag: fc.constantFrom('*', 'a', 'b*'),
  tariffType: fc.constantFrom('Standard' as const, 'Dynamic Pool' as const, 'Fixed Pool' as const),
  status: fc.subarray(['Unprovisioned' as const, 'Active' as const, 'Suspended' as const], { minLength: 1 }),
}

function rulesOf(kind: SubjectKind, facts: Facts): fc.Arbitrary<Rule> {
  const catalogue = [...factsOf(kind).values()]
  // Texts may be empty: then there is no occurrence.
  const occurring = [...catalogue, ...catalogue.filter(({ type }) => type === 'string')].map(({ name }) => name)
  return fc
    .record({
      own: groupsOf(kind, facts),
      clear: fc.option(groupsOf(kind, facts)),
      ladder: fc.option(laddersOf(kind, facts), { freq: 2 }),
      occurrence: fc.option(fc.constantFrom(...occurring)),
      match: fc.oneof(
        { weight: 3, arbitrary: fc.constant({}) },
        { weight: 1, arbitrary: fc.record(patterns, { requiredKeys: [] }) },
      ),
    })
    .map(({ own, clear, ladder, occurrence, match }) => ({
      ...some,
      subject: kind,
      match,
      conditions: ladder === null ? own : withFirstStep(own, ladder),
      clear,
      ladder,
      event: {
        ...some.event,
        params: {
          ...some.event.params,
          ...(occurrence === null ? { once: 'episode' } : { once: 'occurrence', occurrence }),
        },
      },
    }))
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

const aCase = fc.constantFrom(...SUBJECT_KINDS).chain((kind) =>
  fc
    .nat()
    .map((seed): Facts => {
      const { moment, factsAt } = aSubject(kind, randomFrom(seed))
      return factsAt(moment.at)
    })
    .chain(
      (facts): fc.Arbitrary<Case> =>
        fc.record({
          to: fc.constant({
            subject: kind,
            tenantId: 't1',
            poolName: textOf(facts['poolName']),
            tag: textOf(facts['tag']),
            tariffType: textOf(facts['tariffType']),
            status: kind === 'sim' ? SimStatus.Active : null,
          }),
          facts: fc.constant(facts),
          rules: fc
            .array(rulesOf(kind, facts), { minLength: 1, maxLength: 3 })
            .map((rules) => rules.map((rule, n) => ({ ...rule, name: `made-${n}` }))),
          left: fc.subarray(Object.keys(facts)),
        }),
    ),
)

const without = (facts: Facts, left: readonly string[]): Facts =>
  Object.fromEntries(Object.entries(facts).filter(([name]) => !left.includes(name)))

/** Where rules of a set differ from the engine: with all facts, in the row of an evaluation, and with some left out. */
function differencesIn(set: CompiledSet, outcomes: readonly RuleOutcome[], { to, facts, left }: Case) {
  const attached = set.attach(to)
  const rows = [rowOf(facts), filling(readsOf(set.rules, to.subject))(facts), rowOf(without(facts, left))]
  return rows.flatMap((row) => differencesBetween(outcomes, attached, row))
}

/** Answers that are unknown though every fact was read. */
const unknownIn = (attached: readonly CompiledRule[], row: FactRow) =>
  attached.filter(({ holds, clear, occurrence }) =>
    [holds(row), clear?.(row) ?? NO, occurrence(row)].some((answer) => answer === UNKNOWN || answer === undefined),
  )

describe('compiled rules', () => {
  test('answer as the engine, whatever the rules and the facts', { timeout: 0 }, async () => {
    const seen = { met: 0, unmet: 0, cleared: 0, occurred: 0, stepped: 0, unattached: 0, open: 0 }
    await fc.assert(
      fc.asyncProperty(aCase, async (one) => {
        const { to, facts, left } = one
        const rules = [...one.rules, ...shipped]
        const set = compileSet({ rules })
        const outcomes = await evaluateSubject(rulesFor(rules, to), facts)

        expect(outcomes.filter(({ error }) => error !== undefined)).toEqual([])
        expect(differencesIn(set, outcomes, one)).toEqual([])
        expect(unknownIn(set.attach(to), rowOf(facts))).toEqual([])
        const made = outcomes.filter(({ rule }) => rule.name.startsWith('made-'))
        seen.met += made.filter(({ met }) => met).length
        seen.unmet += made.filter(({ met }) => !met).length
        seen.cleared += made.filter(({ clear }) => clear === true).length
        seen.occurred += made.filter(({ occurrence }) => occurrence !== null).length
        seen.stepped += made.filter(({ step }) => step !== undefined).length
        seen.unattached += one.rules.length - made.length
        seen.open += set.attach(to).filter(({ holds }) => holds(rowOf(without(facts, left))) === UNKNOWN).length
      }),
      { numRuns: RUNS },
    )
    for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(RUNS / 30)
  })

  const INCLUSIVE = { lessThan: COMPARISONS.lessThanInclusive, greaterThan: COMPARISONS.greaterThanInclusive }
  /** Each part of a rule, wrong on purpose. */
  const BREAKS: Record<RuleDifference['part'], (rules: readonly Rule[]) => CompiledSet> = {
    attached: (rules) => {
      const set = compileSet({ rules })
      return { ...set, attach: (to) => set.attach(to).slice(1) }
    },
    conditions: (rules) => compileSet({ rules }, { ...COMPARISONS, ...INCLUSIVE }),
    clear: (rules) => each(rules, (one) => ({ ...one, clear: one.clear === null ? null : () => YES })),
    occurrence: (rules) => each(rules, (one) => ({ ...one, occurrence: () => null })),
    step: (rules) => each(rules, (one) => ({ ...one, step: () => null })),
  }
  function each(rules: readonly Rule[], broken: (one: CompiledRule) => CompiledRule): CompiledSet {
    const set = compileSet({ rules })
    return { ...set, attach: (to) => set.attach(to).map(broken) }
  }

  // Always the same cases: a rare mistake must not escape by chance.
  const samples = fc.sample(aCase, { numRuns: 600, seed: 1 })

  test.each(PARTS)('are found to differ in their %s', { timeout: 0 }, async (part) => {
    const found = new Set<string>()
    for (const one of samples) {
      const outcomes = await evaluateSubject(rulesFor(one.rules, one.to), one.facts)
      for (const difference of differencesIn(BREAKS[part](one.rules), outcomes, one)) found.add(difference.part)
    }

    expect(found).toContain(part)
  })
})
