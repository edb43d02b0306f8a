import { describe, expect, test } from 'vitest'
import { LogLevel } from '../../../../domain/codes.ts'
import {
  type Around,
  changesAlert,
  type DecidedAlert,
  decideSubject,
  type KeptAlert,
  leftOf,
} from '../../../../rules/alerts/decide-subject.ts'
import { byName } from '../../../../rules/alerts/quiet.ts'
import { COMPARISONS } from '../../../../rules/compile/comparisons.ts'
import { compileRule } from '../../../../rules/compile/compile-rule.ts'
import { rowOf } from '../../../../rules/compile/fact-row.ts'
import { judgeSubject } from '../../../../rules/compile/judge-subject.ts'
import { evaluateSubject } from '../../../../rules/engine/evaluate-subject.ts'
import type { Facts } from '../../../../rules/facts.ts'
import { type Moment, simFactsOf } from '../../../../rules/facts-of.ts'
import { withFirstStep } from '../../../../rules/ladder.ts'
import type { Rule } from '../../../../rules/rule.ts'
import { STAGES } from '../../../../rules/rule-file.ts'
import { cases } from '../../../setup/cases.ts'
import { type Random, randomFrom, SEED } from '../../../setup/seed.ts'
import { aRule } from '../samples.ts'
import { aGroup, NAMES, someFacts } from './cases.ts'
import { aMoment, aSim } from './subjects.ts'

const SIMS = cases(1000)
const STEPS = 8
const LADDER = {
  fact: 'overageMB',
  steps: [
    { at: 1, level: 0 },
    { at: 2, level: 1 },
    { at: 5, level: 2 },
  ],
  every: 25,
} as const

/** The sample rule with other conditions, an end of its own, and other ways to fire. */
function someRule(sample: Rule, random: Random): Rule {
  const ladder = random.chance(0.4) ? LADDER : null
  const once = random.pick(
    ladder === null ? (['cycle', 'episode', 'occurrence'] as const) : (['cycle', 'episode'] as const),
  )
  const own = aGroup(random, 2)
  const { occurrence: _, ...params } = sample.event.params
  return {
    ...sample,
    subject: 'sim',
    conditions: ladder === null ? own : withFirstStep(random.chance(0.3) ? null : own, ladder),
    ladder,
    clear: random.chance(0.4) ? aGroup(random, 1) : null,
    for: random.chance(0.4) ? { ms: 2 } : { ms: 0 },
    keepFiring: random.chance(0.3) ? { ms: 2 } : { ms: 0 },
    readsUsage: random.chance(0.5),
    event: {
      ...sample.event,
      params: {
        ...params,
        once,
        ...(once === 'occurrence' ? { occurrence: random.pick(['imei', 'tag'] as const) } : {}),
      },
    },
  }
}

/** The rules in other stages. */
const inStages = (rules: readonly Rule[], random: Random): Rule[] =>
  rules.map((rule) => ({
    ...rule,
    event: { ...rule.event, params: { ...rule.event.params, stage: random.pick(STAGES) } },
  }))

function someCircumstances(rules: readonly Rule[], moment: Moment, random: Random): Around<KeptAlert> {
  const { at } = moment
  const staleSince = random.chance(0.2) ? at - random.below(3) : null
  const silence = { id: 1, rule: null, simId: null, poolId: null, tag: null, level: null }
  const guard = random.pick(['pass', 'pass', 'released', 'discarded', 1] as const)
  return {
    moment: { ...moment, feed: { ...moment.feed, staleSince } },
    rules: byName(rules),
    isRefused: false,
    silences: random.chance(0.3) ? [{ ...silence, endsAt: at + random.pick([1, 3]) }] : [],
    deviceChanges: new Map(),
    escalateAfterMs: random.pick([null, 2]),
    mailsFrom: random.pick(Object.values(LogLevel)),
    inhibitors: new Map(),
    guardOf: () => guard,
  }
}

/** The alerts once the decisions are kept. */
const keptAfter = (
  stored: readonly KeptAlert[],
  decided: readonly Pick<KeptAlert, 'rule' | 'scope' | 'state'>[],
  id: number,
): KeptAlert[] => [
  ...stored.filter(({ rule }) => !decided.some((one) => one.rule === rule)),
  ...decided.map((one) => ({ ...one, kind: 'sim' as const, id, lastSignal: null })),
]

/** What a look takes from a decision on an alert that there is. */
const essence = ({ outcome, stored, decision: { wish, nextCheckAt } }: DecidedAlert<KeptAlert>) =>
  stored === null ? [] : [[outcome.rule.name, wish, nextCheckAt]]

describe('judgeSubject', () => {
  test('says which evaluations by the engine change something', { timeout: 0 }, async () => {
    const random = randomFrom(SEED)
    const sample = await aRule({})
    const seen = { unchanged: 0, changed: 0, unknown: 0 }
    for (let n = 0; n < SIMS; n += 1) {
      const made = Array.from({ length: 1 + random.below(3) }, (_, k) => ({
        ...someRule(sample, random),
        name: `r${k}`,
      }))
      const begins = aMoment(random)
      const row = aSim(random, begins)
      const subject = { kind: 'sim' as const, id: row.simId, row, facts: simFactsOf(row, begins) }
      let stored: KeptAlert[] = []
      for (let step = 0; step < STEPS; step += 1) {
        const rules = inStages(made, random)
        const around = someCircumstances(rules, { ...begins, at: begins.cycle.startsAt + step }, random)
        const facts = someFacts(random)
        const attached = rules.filter(() => random.chance(0.95))
        const judge = (known: Facts) => {
          const compiled = attached.map((rule) => compileRule(rule, COMPARISONS))
          return judgeSubject(subject, { attached: compiled, row: rowOf(known) }, stored, around)
        }
        const outcomes = await evaluateSubject(attached, facts)
        const decided = decideSubject(subject, outcomes, stored, around)
        const changed = decided.filter(changesAlert)
        const left = leftOf(subject, outcomes, stored, around)

        const verdict = judge(facts)
        const missing = random.pick(NAMES)
        const narrow = judge(Object.fromEntries(Object.entries(facts).filter(([name]) => name !== missing)))

        const shown = JSON.stringify({ rules: made.map(({ conditions, clear }) => [conditions, clear]), facts, stored })
        expect(verdict.is, shown).toBe(changed.length + left.length > 0 ? 'changed' : 'unchanged')
        expect([verdict.is, 'unknown'], shown).toContain(narrow.is)
        for (const { decision } of decided.filter((one) => !changed.includes(one)))
          expect([...decision.entries, ...decision.notices], shown).toEqual([])
        if (verdict.is === 'unchanged')
          expect(verdict.decided.flatMap(essence), shown).toEqual(decided.flatMap(essence))
        seen[narrow.is] += 1
        stored = keptAfter(
          stored.filter((alert) => !left.includes(alert)),
          changed.map(({ outcome, scope, decision: { next } }) => ({ rule: outcome.rule.name, scope, state: next })),
          subject.id,
        )
      }
    }
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(SIMS / 2)
  })
})
