/** What the timelines of the shipped rules have to show, of each rule. */
import { beforeAll, describe, expect, test } from 'vitest'
import { cycleAt } from '../../../../domain/time/cycle.ts'
import { readRuleFolder } from '../../../../process/rule-files.ts'
import { loadRuleSet } from '../../../../rules/load/load-rule-set.ts'
import { compare } from '../../../../rules/timeline/compare.ts'
import { Coverage, WAYS } from '../../../../rules/timeline/coverage.ts'
import { type PlayResult, play } from '../../../../rules/timeline/play.ts'
import { readTestFiles } from '../../../../rules/timeline/read-test-files.ts'

const shipped = await readRuleFolder('')
const { rules } = await loadRuleSet(shipped.rules)
const { files } = await readTestFiles(shipped.tests, rules)
const coverage = new Coverage(rules)
const played = new Map<string, PlayResult[]>()
beforeAll(async () => {
  for (const { file, rules: named, tests } of files)
    for (const one of tests) played.set(file, [...(played.get(file) ?? []), await play(one, named, coverage)])
}, 0)

describe.each(rules.map((rule) => [rule.name, rule] as const))('those of %s', (name, rule) => {
  const file = rule.file.replace(/json$/, 'test.json')
  const own = () => played.get(file) ?? []
  const tests = files.find((one) => one.file === file)?.tests ?? []

  test('pass', () => {
    expect(own()).toHaveLength(tests.length)
    expect(own().flatMap((one, n) => compare(tests[n]?.expect ?? {}, one))).toEqual([])
  })

  test('fire, and end', () => {
    const told = own().flatMap(({ entries }) => entries.filter((one) => one.rule === name).map(({ kind }) => kind))
    const phases = own().flatMap((one) => one.phases.filter((change) => change.rule === name).map(({ phase }) => phase))

    expect(told).toContain('fired')
    if (rule.resolve === 'none') expect(told).not.toContain('resolved')
    else expect(told).toContain('resolved')
    expect(phases).toContain('resolved')
  })

  test('meet a gap in the feed, and a new cycle', () => {
    expect(tests.some(({ feed }) => (feed?.away ?? []).length > 0)).toBe(true)
    expect(own().some((one) => one.endsAt > cycleAt(one.billingCycle, one.startsAt).endsAt)).toBe(true)
  })

  test('try each comparison every way', () => {
    const { leaves } = coverage.all.find((one) => one.rule === name) ?? { leaves: [] }
    const missing = leaves.flatMap(({ words, seen }) =>
      WAYS.filter((way) => !seen.has(way)).map((way) => `${words}: never ${way}`),
    )

    expect(leaves.length).toBeGreaterThan(0)
    expect(missing).toEqual([])
  })
})
