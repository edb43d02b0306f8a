import { describe, expect, test } from 'vitest'
import { diffRules } from '../../../rules/diff-rules.ts'
import { loadStoredRules } from '../../../rules/load/load-rule-set.ts'
import { aFile, examplesOf, leaf } from './samples.ts'

const set = async (...files: ReturnType<typeof aFile>[]) => (await loadStoredRules(files)).rules
const above = (fact: string, value: number) => leaf(fact, 'greaterThan', value)
const when = (...all: unknown[]) => aFile({ conditions: { all } })
const aSim = (match: object) => aFile({ subject: 'sim', match }, { message: '{{iccid}}' })
const differs = (aspect: string, field: string, before: string[], after: string[]) => ({ aspect, field, before, after })
const [five, eighty] = [above('usageMB', 5), above('usagePct', 80)]

describe('diffRules', () => {
  test('names rules that are new or gone', async () => {
    expect(diffRules(await set(aFile({ name: 'a' })), await set(aFile({ name: 'b' })))).toEqual([
      { name: 'a', change: 'removed', differences: [] },
      { name: 'b', change: 'added', differences: [] },
    ])
  })

  test.each<[string, ReturnType<typeof aFile>, ReturnType<typeof aFile>]>([
    ['another order', when(five, eighty), when(eighty, five)],
    ['groups inside', when(five, eighty), when({ all: [eighty] }, five)],
    ['a default written out', aFile(), aFile({}, { for: 'PT0S', keepFiring: 'PT0S', resolve: 'log' })],
    ['statuses that are those without any', aSim({}), aSim({ status: ['Suspended', 'Active'] })],
    ['other words for a time', aFile({}, { for: 'PT1H' }), aFile({}, { for: 'PT60M' })],
    ['other examples', aFile(), aFile({ examples: examplesOf({ usagePct: 95 }, { usagePct: 1 }) })],
  ])('says nothing of %s', async (_, before, after) => {
    expect(diffRules(await set(before), await set(after))).toEqual([])
  })

  test('says when, for whom, what and with what words', async () => {
    const before = when(five, eighty)
    const after = aFile(
      { conditions: { all: [five, above('usagePct', 90)] }, match: { pool: 'North' } },
      { level: 'Critical', message: 'Pool {{poolName}} is full.' },
    )

    expect(diffRules(await set(before), await set(after))).toEqual([
      {
        name: 'some-rule',
        change: 'changed',
        differences: [
          differs('when', 'conditions', ['usagePct greaterThan 80'], ['usagePct greaterThan 90']),
          differs('for whom', 'match', [], ['pool North']),
          differs('what', 'level', ['Warning'], ['Critical']),
          differs('words', 'message', ['Pool {{poolName}}: {{usagePct}} %'], ['Pool {{poolName}} is full.']),
        ],
      },
    ])
  })
})
