import { describe, expect, test } from 'vitest'
import { diffRules } from '../../../rules/diff-rules.ts'
import { loadStoredRules } from '../../../rules/load/load-rule-set.ts'
import { aFile, leaf } from './samples.ts'

const set = async (...files: ReturnType<typeof aFile>[]) => (await loadStoredRules(files)).rules
const above = (fact: string, value: number) => leaf(fact, 'greaterThan', value)
const usage = (usagePct: number, fires: boolean) => ({ fires, facts: { usagePct } })
const [five, eighty] = [above('usageMB', 5), above('usagePct', 80)]

describe('diffRules', () => {
  test('names rules that are new or gone', async () => {
    expect(diffRules(await set(aFile({ name: 'a' })), await set(aFile({ name: 'b' })))).toEqual([
      { name: 'a', change: 'removed', differences: [] },
      { name: 'b', change: 'added', differences: [] },
    ])
  })

  test.each<[string, ReturnType<typeof aFile>, ReturnType<typeof aFile>]>([
    ['another order', aFile({ conditions: { all: [five, eighty] } }), aFile({ conditions: { all: [eighty, five] } })],
    [
      'groups inside',
      aFile({ conditions: { all: [five, eighty] } }),
      aFile({ conditions: { all: [{ all: [eighty] }, five] } }),
    ],
    ['a default written out', aFile(), aFile({}, { for: 'PT0S', keepFiring: 'PT0S', resolve: 'log' })],
    ['other words for a time', aFile({}, { for: 'PT1H' }), aFile({}, { for: 'PT60M' })],
    ['other examples', aFile(), aFile({ examples: [usage(95, true), usage(1, false)] })],
  ])('says nothing of %s', async (_, before, after) => {
    expect(diffRules(await set(before), await set(after))).toEqual([])
  })

  test('says when, for whom, what and with what words', async () => {
    const before = aFile({ conditions: { all: [five, eighty] } })
    const after = aFile(
      { conditions: { all: [five, above('usagePct', 90)] }, match: { pool: 'North' } },
      { level: 'Critical', message: 'Pool {{poolName}} is full.' },
    )

    expect(diffRules(await set(before), await set(after))).toEqual([
      {
        name: 'some-rule',
        change: 'changed',
        differences: [
          {
            aspect: 'when',
            field: 'conditions',
            before: ['usagePct greaterThan 80'],
            after: ['usagePct greaterThan 90'],
          },
          { aspect: 'for whom', field: 'match', before: [], after: ['pool North'] },
          { aspect: 'what', field: 'level', before: ['Warning'], after: ['Critical'] },
          {
            aspect: 'words',
            field: 'message',
            before: ['Pool {{poolName}}: {{usagePct}} %'],
            after: ['Pool {{poolName}} is full.'],
          },
        ],
      },
    ])
  })
})
