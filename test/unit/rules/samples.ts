/** Valid rule files, rules and questions about alerts: a test sets only the fields that it tests. */
import { globSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { WatchdogMode } from '../../../domain/codes.ts'
import type { RuleSource } from '../../../domain/rules/rule-source.ts'
import { cycleAt } from '../../../domain/time/cycle.ts'
import { permitted } from '../../../rules/alerts/permission.ts'
import type { AlertQuestion } from '../../../rules/alerts/telling.ts'
import type { Condition, Group } from '../../../rules/conditions.ts'
import type { RuleOutcome } from '../../../rules/engine/evaluate-subject.ts'
import { loadRuleSet } from '../../../rules/load/load-rule-set.ts'
import type { Rule } from '../../../rules/rule.ts'

const RULES = new URL('../../../rules/', import.meta.url)

export const shippedFiles = (): RuleSource[] =>
  globSync('{sim,pool,tenant}/*.json', { cwd: RULES })
    .filter((file) => !file.endsWith('.test.json'))
    .toSorted()
    .map((file) => ({ file, text: readFileSync(new URL(file, RULES), 'utf8') }))

export const params = {
  level: 'Warning',
  message: 'Pool {{poolName}}: {{usagePct}} %',
  actions: ['log', 'email'],
  once: 'cycle',
  stage: 'notify',
}
export const leaf = <V>(fact: string, operator: string, value: V) => ({ fact, operator, value })

/** The two examples that a rule needs. */
export const examplesOf = (fires: object, not: object) => [
  { fires: true, facts: fires },
  { fires: false, facts: not },
]

type Changes = Record<string, unknown>

/** A rule about pools, met at 80 % usage. */
export const aFile = (changes: Changes = {}, changedParams: Changes = {}): RuleSource => {
  const name = typeof changes.name === 'string' ? changes.name : 'some-rule'
  const source = {
    name,
    description: 'Some rule.',
    subject: 'pool',
    conditions: { all: [leaf('usagePct', 'greaterThanInclusive', 80)] },
    event: { type: 'usage', params: { ...params, ...changedParams } },
    examples: examplesOf({ usagePct: 80 }, { usagePct: 79 }),
    ...changes,
  }
  return { file: `pool/${name}.json`, text: JSON.stringify(source) }
}

/** A rule about SIMs that fires while a comparison holds. @param examples of its fact: a value that fires, and one not */
export function ruleAboutSims(
  name: string,
  match: object,
  [fact, operator, value]: readonly [string, string, unknown],
  [fires, rests]: readonly [unknown, unknown],
  changed: Changes = {},
): RuleSource {
  const changes = {
    name,
    subject: 'sim',
    match,
    conditions: { all: [leaf(fact, operator, value)] },
    examples: examplesOf({ [fact]: fires }, { [fact]: rests }),
  }
  const { text } = aFile(changes, { message: `SIM {{iccid}}: {{${fact}}}`, once: 'episode', ...changed })
  return { file: `sim/${name}.json`, text }
}

/** Any conditions over these comparisons. */
export const conditionsOver = (comparison: fc.Arbitrary<Condition>) =>
  fc.letrec<{ condition: Condition; group: Group }>((tie) => {
    const members = fc.array(tie('condition'), { minLength: 1, maxLength: 3 })
    return {
      condition: fc.oneof({ weight: 3, arbitrary: comparison }, tie('group')),
      group: fc.oneof(
        { maxDepth: 3 },
        fc.record({ all: members, priority: fc.integer({ min: 1, max: 3 }) }),
        fc.record({ any: members }),
        fc.record({ not: tie('condition') }),
      ),
    }
  })

/** Params of a rule that suspends. */
export const suspending = (target: string, until = 'manual', more: object = {}) => ({
  actions: ['log', 'suspend'],
  suspend: { target, until, ...more },
})

export const STEPS = [
  { at: 50, level: 'Info' },
  { at: 80, level: 'Warning' },
  { at: 100, level: 'Critical' },
]

/** A rule about pools with a ladder over their usage, without conditions. */
export const aLadder = (changes: Changes = {}, changedParams: Changes = {}): RuleSource => {
  const all = { conditions: undefined, ladder: { fact: 'usagePct', steps: STEPS, every: 25 }, ...changes }
  const examples = examplesOf({ usagePct: 99 }, { usagePct: 49 })
  return aFile({ examples, ...all }, { level: undefined, message: 'Pool {{poolName}} at {{step}}', ...changedParams })
}

/** Rules with ladders beside the shipped ones, none of which has one. */
export const LADDERS: readonly RuleSource[] = [
  aLadder({ name: 'steps' }),
  aLadder({
    name: 'steps-of-many',
    conditions: { all: [leaf('totalSimCount', 'greaterThan', 1)] },
    examples: examplesOf({ usagePct: 99, totalSimCount: 2 }, { usagePct: 99, totalSimCount: 1 }),
  }),
]

async function ruleOf(source: RuleSource): Promise<Rule> {
  const { rules, faults } = await loadRuleSet([source])
  const [rule] = rules
  if (rule === undefined) throw new Error(JSON.stringify(faults))
  return rule
}
export const aRule = (changes: Changes = {}, changedParams: Changes = {}): Promise<Rule> =>
  ruleOf(aFile(changes, changedParams))
export const aLadderRule = (changes: Changes = {}, changedParams: Changes = {}): Promise<Rule> =>
  ruleOf(aLadder(changes, changedParams))

export const NOVEMBER = cycleAt('P1M', Date.UTC(2026, 10, 20))
export const DECEMBER = cycleAt('P1M', Date.UTC(2026, 11, 1))
export const NOON = Date.UTC(2026, 10, 20, 12)

/** A question about the first alert of a rule, about pool 7 in Enforce mode, at noon. */
export const aQuestion = (
  outcome: Partial<RuleOutcome> & Pick<RuleOutcome, 'rule'>,
  more: Partial<AlertQuestion> = {},
): AlertQuestion => ({
  outcome: { met: false, occurrence: null, explanation: [], ...outcome },
  subject: { kind: 'pool', id: 7 },
  cycle: NOVEMBER,
  permission: permitted('enforce', WatchdogMode.Enforce),
  quiet: null,
  escalateAfterMs: null,
  staleSince: null,
  previous: null,
  now: NOON,
  ...more,
})
