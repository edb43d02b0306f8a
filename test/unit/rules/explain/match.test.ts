/** What the comparisons of a rule say. */
import { describe, expect, test } from 'vitest'
import { answered, leavesOn } from '../../../../rules/explain/leaves.ts'
import { leafWords } from '../../../../rules/explain/words.ts'
import { leaf } from '../samples.ts'

describe('a comparison', () => {
  const facts = {
    usagePct: 76.8,
    warningThresholdPct: 80,
    poolUsagePct: null,
    status: 1,
    enableBurnRateAlerts: false,
    tag: 'van',
  }
  test.each([
    [
      leaf('usagePct', 'greaterThanInclusive', { fact: 'warningThresholdPct' }),
      'usagePct is 76.8 %: not at least 80 % (warningThresholdPct)',
    ],
    [leaf('usagePct', 'lessThan', 90), 'usagePct is 76.8 %: below 90 %'],
    [leaf('poolUsagePct', 'greaterThan', 80), 'poolUsagePct is unknown: whether it is above 80 % cannot be said'],
    [leaf('poolUsagePct', 'known', true), 'poolUsagePct is unknown'],
    [leaf('status', 'equal', 1), 'status is Active: equal to Active'],
    [leaf('tag', 'in', ['car', 'bus']), 'tag is van: not one of car, bus'],
  ])('in words: %j', (one, expected) => {
    expect(leavesOn({ all: [one] }, 'sim', facts).map((each) => leafWords(each, 'sim'))).toEqual([expected])
  })

  test('that the engine left out is answered too', () => {
    const left = { fact: 'usagePct', value: 76.8, operator: 'greaterThan', operandFact: null, result: null }
    const results = answered(
      [
        { ...left, operand: 80 },
        { ...left, operand: 70 },
        { ...left, operand: null },
      ],
      'sim',
    )

    expect(results.map(({ result }) => result)).toEqual([false, true, null])
  })
})
