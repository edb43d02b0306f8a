import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { RuleSource } from '../../../domain/rules/rule-source.ts'
import { lintRules } from '../../../rules/lint/lint-rules.ts'
import { loadRuleSet, loadStoredRules } from '../../../rules/load/load-rule-set.ts'
import { LINT_CODES } from '../../../rules/rule-file.ts'
import { aFile, leaf, shippedFiles, suspending } from './samples.ts'

/** What the linter finds, as `code pointer`. Examples do not matter to it. */
async function found(...files: RuleSource[]) {
  const { rules, faults } = await loadStoredRules(files)
  expect(faults).toEqual([])
  return lintRules(rules).map(({ rule, code, pointer }) => `${rule}: ${code} ${pointer}`)
}
const when = (...all: unknown[]) => ({ conditions: { all } })
const above = (fact: string, value: number) => leaf(fact, 'greaterThan', value)
const under = (fact: string, value: number) => leaf(fact, 'lessThan', value)
const sim = (changes: object, changed: object = {}) =>
  aFile({ subject: 'sim', ...changes }, { message: '{{iccid}}: {{silentPct}}, {{usagePct}}', ...changed })
const episode = { once: 'episode' }
const [SILENT_FOR_HOURS, FRESH] = [above('hoursSinceLastSeen', 23), under('feedAgePct', 5)]
const FIRST = { resolve: 'none' }
const SPIKE = { ...FIRST, message: '{{usageSpikeRatio}}' }
const UP_TO_THE_END = leaf('elapsedPct', 'lessThanInclusive', 100)

describe('lintRules', () => {
  test('finds nothing in the shipped rules that they do not mute', async () => {
    const { rules } = await loadRuleSet(shippedFiles())

    expect(lintRules(rules)).toEqual([])
    expect(lintRules(rules.map((rule) => ({ ...rule, muted: {} }))).length).toBe(
      rules.flatMap(({ muted }) => Object.keys(muted)).length,
    )
  })

  const ENDS_NEAR = { ...episode, clear: { all: [under('usagePct', 78)] } }
  const ENDS_FAR = { ...episode, clear: { all: [under('usagePct', 70)] } }
  const HOURS = { message: '{{hoursSinceLastSeen}}', ...FIRST }
  const ELAPSED = above('elapsedPct', 10)
  const contradicting = { any: [above('usagePct', 1), { all: [above('usageMB', 9), under('usageMB', 9)] }] }
  const named = (name: string) => leaf('poolName', 'equal', name)
  test.each<[string, RuleSource, string]>([
    ['a range with nothing in it', aFile(when(above('usagePct', 90), under('usagePct', 80))), 'impossible /conditions'],
    ['one value left out', aFile(when(above('usagePct', 80), leaf('usagePct', 'equal', 80))), 'impossible /conditions'],
    ['more than the greatest', aFile(when(above('elapsedPct', 100), above('usagePct', 1))), 'impossible /conditions'],
    ['a group inside that contradicts', aFile({ conditions: contradicting }), 'impossible /conditions/any/1'],
    ['two texts at once', aFile(when(above('usagePct', 1), named('a'), named('b'))), 'impossible /conditions'],
    ['what always holds', aFile(when(above('usagePct', 80), UP_TO_THE_END)), 'always /conditions/all/1'],
    ['an episode without an end of its own', aFile(when(above('usagePct', 80)), episode), 'no-clear /event/params'],
    ['an end near the beginning', aFile(when(above('usagePct', 80)), ENDS_NEAR), 'flappy /event/params/clear/all/0'],
    [
      'an early forecast',
      aFile(when(above('usagePct', 10), above('forecastPct', 100)), FIRST),
      'no-evidence /conditions',
    ],
    ['a spike of next to nothing', sim(when(above('usageSpikeRatio', 5)), SPIKE), 'no-evidence /conditions'],
    ['a value that returns', aFile(when(above('usagePct', 1), above('usage24hMB', 9))), 'returns /event/params'],
    [
      'a forecast that returns',
      aFile(when(ELAPSED, above('forecastPct', 100)), { message: '{{forecastPct}}' }),
      'returns /event/params',
    ],
    ['a status that is not evaluated', sim(when(under('status', 1))), 'impossible /conditions'],
    [
      'a status that is the only one',
      sim({ match: { status: ['Unprovisioned'] }, ...when(leaf('status', 'lessThanInclusive', 0)) }),
      'always /conditions/all/0',
    ],
    ['silence without the feed', sim(when(above('silentPct', 5)), FIRST), 'feed-blind /conditions'],
    ['hours', sim(when(SILENT_FOR_HOURS, FRESH), HOURS), 'absolute-time /conditions/all/0'],
    ['a message without a figure', aFile({}, { message: '{{poolName}} full.' }), 'mute-message /event/params/message'],
    ['a suspension at once', aFile({}, { ...suspending('all'), level: 'Critical' }), 'unguarded /event/params'],
    ['a suspension as Info', aFile({}, { ...suspending('all'), for: '5%', level: 'Info' }), 'unguarded /event/params'],
  ])('finds %s', async (_, file, finding) => {
    expect(await found(file)).toEqual([`some-rule: ${finding}`])
  })

  test.each<[string, RuleSource]>([
    ['a range with something in it', aFile(when(above('usagePct', 80), under('usagePct', 90)))],
    ['alternatives without overlap', aFile({ conditions: { any: [above('usagePct', 90), under('usagePct', 80)] } })],
    ['a comparison of what may be unknown', aFile(when(leaf('usagePct', 'greaterThanInclusive', 0)))],
    ['an episode that is kept firing', aFile(when(above('usagePct', 80)), { ...episode, keepFiring: 'PT1H' })],
    ['an end far from the beginning', aFile(when(above('usagePct', 80)), ENDS_FAR)],
    ['hours beside the length of the cycle', sim(when(SILENT_FOR_HOURS, FRESH, above('cycleHours', 600)), HOURS)],
    ['days of silence, which people mean', sim(when(above('hoursSinceLastSeen', 168), FRESH), HOURS)],
    ['a SIM that was just seen', sim(when(under('hoursSinceLastSeen', 24)), HOURS)],
    [
      'a value that is told the first time',
      aFile(when(above('usage24hMB', 9)), { message: '{{usage24hMB}}', ...FIRST }),
    ],
    ['a spike of some use', sim(when(above('usageSpikeRatio', 5), above('usage24hMB', 50)), SPIKE)],
    ['a suspension after a while', aFile({}, { ...suspending('all'), for: '5%' })],
  ])('finds nothing in %s', async (_, file) => {
    expect(await found(file)).toEqual([])
  })

  test('finds rules that say the same in another order', async () => {
    const one = aFile({ name: 'one', ...when(above('usagePct', 80), above('usageMB', 5)) })
    const two = aFile({ name: 'two', ...when({ all: [above('usageMB', 5)] }, above('usagePct', 80)) })
    const other = aFile({ name: 'three', ...when(above('usageMB', 5), above('usagePct', 80)) }, { level: 'Info' })

    expect(await found(one, two, other)).toEqual(['two: duplicate /conditions'])
  })

  test('finds rules that another covers', async () => {
    const wide = aFile({ name: 'wide', ...when(above('usagePct', 80)) })
    const narrow = aFile({ name: 'narrow', ...when(above('usagePct', 90), above('usageMB', 5)) })
    const here = aFile({ name: 'here', match: { pool: 'North' }, ...when(above('usagePct', 90)) })

    expect(await found(wide, narrow, here)).toEqual(['narrow: subsumed /conditions'])
  })

  test('is told in the book of rules, code by code', () => {
    const book = readFileSync('docs/rules.md', 'utf8')

    expect(
      Object.entries(LINT_CODES).filter(([code, meaning]) => !book.includes(`| \`${code}\` | ${meaning} |`)),
    ).toEqual([])
  })

  test('says nothing of what a rule mutes', async () => {
    const lint = { 'no-clear': 'the pool is emptied once a day' }

    expect(await found(aFile({ ...when(above('usagePct', 80)), lint }, episode))).toEqual([])
  })

  test('is muted only by a code that there is, with a reason', async () => {
    const lint = { 'no-claer': 'the pool is emptied once a day', flappy: '' }
    const { faults } = await loadRuleSet([aFile({ lint })])

    expect(faults.map(({ pointer, hint, expected }) => [pointer, hint ?? expected])).toEqual([
      ['/lint/no-claer', 'did you mean no-clear?'],
      ['/lint/flappy', expect.stringContaining('Why it does not matter here')],
    ])
  })
})
