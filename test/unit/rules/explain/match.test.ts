/** Which field of a rule keeps it from a subject, and what its comparisons say. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Condition, Operand } from '../../../../rules/conditions.ts'
import { isAttached } from '../../../../rules/engine/match.ts'
import { answered, leavesOn } from '../../../../rules/explain/leaves.ts'
import { misfitsOf } from '../../../../rules/explain/misfits-of.ts'
import { leafWords } from '../../../../rules/explain/words.ts'
import { aRule } from '../samples.ts'

const leaf = (fact: string, operator: string, value: Operand): Condition => ({ fact, operator, value })
const rule = await aRule()
const some = <T>(...values: T[]) => fc.option(fc.constantFrom(...values), { nil: undefined })
const match = fc
  .record({
    tenant: some('t1', 't*'),
    pool: some('vans', 'v*', '*s'),
    tag: some('meter-*'),
    tariffType: some<any>('Standard', ['Fixed Pool', 'Dynamic Pool']),
  })
  .map((fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)))
const subject = fc.record({
  subject: fc.constant('pool' as const),
  tenantId: fc.constantFrom('t1', 'x'),
  poolName: fc.constantFrom('vans', 'meters', null),
  tag: fc.constantFrom('meter-7', null),
  tariffType: fc.constantFrom('Standard', 'Fixed Pool', null),
})

describe('a misfit', () => {
  test('is found where a rule is not attached, and only there', () => {
    fc.assert(
      fc.property(match, subject, fc.constantFrom('off', 'log'), (fields, to, stage) => {
        const one: any = { ...rule, match: fields, event: { ...rule.event, params: { ...rule.event.params, stage } } }
        expect(misfitsOf(one, to).length === 0).toBe(isAttached(one, to))
      }),
    )
  })
})

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
