/** Valid rule files and rules: a test sets only the fields that it tests. */

import { globSync, readFileSync } from 'node:fs'
import type { RuleSource } from '../../../domain/rules/rule-source.ts'
import { cycleAt } from '../../../domain/time/cycle.ts'
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
export const leaf = (fact: string, operator: string, value: unknown) => ({ fact, operator, value })

/** A rule about pools, met at 80 % usage. */
export const aFile = (
  changes: Record<string, unknown> = {},
  changedParams: Record<string, unknown> = {},
): RuleSource => {
  const name = typeof changes.name === 'string' ? changes.name : 'some-rule'
  const source = {
    name,
    description: 'Some rule.',
    subject: 'pool',
    conditions: { all: [leaf('usagePct', 'greaterThanInclusive', 80)] },
    event: { type: 'usage', params: { ...params, ...changedParams } },
    examples: [
      { fires: true, facts: { usagePct: 80 } },
      { fires: false, facts: { usagePct: 79 } },
    ],
    ...changes,
  }
  return { file: `pool/${name}.json`, text: JSON.stringify(source) }
}

export const STEPS = [
  { at: 50, level: 'Info' },
  { at: 80, level: 'Warning' },
  { at: 100, level: 'Critical' },
]

const manyExamples = [
  { fires: true, facts: { usagePct: 99, totalSimCount: 2 } },
  { fires: false, facts: { usagePct: 99, totalSimCount: 1 } },
]

/** A rule about pools with a ladder over their usage, without conditions. */
export const aLadder = (
  changes: Record<string, unknown> = {},
  changedParams: Record<string, unknown> = {},
): RuleSource => {
  const all = { conditions: undefined, ladder: { fact: 'usagePct', steps: STEPS, every: 25 }, ...changes }
  const examples = [
    { fires: true, step: 80, facts: { usagePct: 99 } },
    { fires: false, facts: { usagePct: 49 } },
  ]
  return aFile({ examples, ...all }, { level: undefined, message: 'Pool {{poolName}} at {{step}}', ...changedParams })
}

/** Rules with ladders beside the shipped ones, none of which has one. */
export const LADDERS: readonly RuleSource[] = [
  aLadder({ name: 'steps' }),
  aLadder({
    name: 'steps-of-many',
    conditions: { all: [leaf('totalSimCount', 'greaterThan', 1)] },
    examples: manyExamples,
  }),
]

export async function aLadderRule(
  changes: Record<string, unknown> = {},
  changedParams: Record<string, unknown> = {},
): Promise<Rule> {
  const { rules, faults } = await loadRuleSet([aLadder(changes, changedParams)])
  const [rule] = rules
  if (rule === undefined) throw new Error(JSON.stringify(faults))
  return rule
}

export async function aRule(
  changes: Record<string, unknown> = {},
  changedParams: Record<string, unknown> = {},
): Promise<Rule> {
  const { rules, faults } = await loadRuleSet([aFile(changes, changedParams)])
  const [rule] = rules
  if (rule === undefined) throw new Error(JSON.stringify(faults))
  return rule
}

export const NOVEMBER = cycleAt('P1M', Date.UTC(2026, 10, 20))
export const DECEMBER = cycleAt('P1M', Date.UTC(2026, 11, 1))
