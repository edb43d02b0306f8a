import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Condition, Group } from '../../../rules/conditions.ts'
import { decideRule, evaluateSubject } from '../../../rules/engine/evaluate-subject.ts'
import { cases } from '../../setup/cases.ts'
import { aRule, conditionsOver, examplesOf, leaf } from './samples.ts'

describe('evaluateSubject', () => {
  test('says what is met, and what was compared', async () => {
    const rule = await aRule({
      conditions: {
        all: [
          leaf('usagePct', 'greaterThanInclusive', { fact: 'warningThresholdPct' }),
          leaf('usageMB', 'greaterThan', 9),
        ],
      },
      examples: examplesOf(
        { usagePct: 80, warningThresholdPct: 80, usageMB: 10 },
        { usagePct: 80, warningThresholdPct: null, usageMB: 10 },
      ),
    })

    const [outcome] = await evaluateSubject([rule], { usagePct: 81.5, warningThresholdPct: 80, usageMB: 5 })

    expect(outcome).toMatchObject({ rule, met: false, occurrence: null })
    expect(outcome?.explanation).toEqual([
      {
        fact: 'usagePct',
        value: 81.5,
        operator: 'greaterThanInclusive',
        operand: 80,
        operandFact: 'warningThresholdPct',
        result: true,
      },
      { fact: 'usageMB', value: 5, operator: 'greaterThan', operand: 9, operandFact: null, result: false },
    ])
  })

  test('marks comparisons that were not decided', async () => {
    const conditions: Group = {
      any: [
        { fact: 'a', operator: 'equal', value: 2 },
        { fact: 'a', operator: 'equal', value: 1, priority: 5 },
      ],
    }

    const { met, leaves } = await decideRule(conditions, { a: 1 })

    expect([met, leaves.map(({ result }) => result)]).toEqual([true, [null, true]])
  })

  test('goes on if one rule cannot be decided', async () => {
    const good = await aRule({ name: 'good' })
    const lacking = await aRule({
      name: 'lacking',
      conditions: { any: [leaf('usagePct', 'greaterThan', 79), leaf('limitMB', 'lessThan', 0)] },
      examples: examplesOf({ usagePct: 80, limitMB: 1 }, { usagePct: 1, limitMB: 1 }),
    })

    const outcomes = await evaluateSubject([lacking, good], { usagePct: 90 })

    expect(outcomes.map(({ rule, met, error }) => [rule.name, met, error])).toEqual([
      ['lacking', false, 'Undefined fact: limitMB'],
      ['good', true, undefined],
    ])
  })

  test('says whether the clear conditions are met', async () => {
    const rule = await aRule({}, { once: 'episode', clear: { all: [leaf('usagePct', 'lessThan', 50)] } })

    expect(await evaluateSubject([rule], { usagePct: 60 })).toMatchObject([{ met: false, clear: false }])
    expect(await evaluateSubject([rule], { usagePct: 40 })).toMatchObject([{ met: false, clear: true }])
  })

  test('names the occurrence, or null if empty', async () => {
    const rule = await aRule({}, { once: 'occurrence', occurrence: 'poolName' })

    expect(await evaluateSubject([rule], { usagePct: 90, poolName: 'Vans' })).toMatchObject([{ occurrence: 'Vans' }])
    expect(await evaluateSubject([rule], { usagePct: 90, poolName: '' })).toMatchObject([{ occurrence: null }])
  })
})

describe('decide', () => {
  const facts = { a: 1, b: 2, c: null, d: 'x' }
  const comparison = fc.record({
    fact: fc.constantFrom(...Object.keys(facts)),
    operator: fc.constantFrom('equal', 'notEqual', 'lessThan', 'greaterThanInclusive', 'not:lessThan'),
    value: fc.oneof(fc.constantFrom(0, 1, 2, 'x'), fc.record({ fact: fc.constantFrom(...Object.keys(facts)) })),
  })
  /** The meaning of conditions, as briefly as possible. */
  const means = (condition: Condition): boolean => {
    if ('all' in condition) return condition.all.every(means)
    if ('any' in condition) return condition.any.some(means)
    if ('not' in condition) return !means(condition.not)
    const known: Record<string, string | number | null> = facts
    const a = known[condition.fact] ?? null
    const b =
      typeof condition.value === 'object' && 'fact' in condition.value
        ? (known[condition.value.fact] ?? null)
        : condition.value
    const alike = a !== null && b !== null && typeof a === typeof b
    const numbers = typeof a === 'number' && typeof b === 'number'
    switch (condition.operator) {
      case 'equal':
        return alike && a === b
      case 'notEqual':
        return alike && a !== b
      case 'lessThan':
        return numbers && a < b
      case 'not:lessThan':
        return !(numbers && a < b)
      default:
        return numbers && a >= b
    }
  }

  test('agrees with the plain meaning of any conditions', async () => {
    await fc.assert(
      fc.asyncProperty(conditionsOver(comparison).group, async (group) => {
        expect((await decideRule(group, facts)).met).toBe(means(group))
      }),
      { numRuns: cases(300) },
    )
  })

  test('does not change the conditions', async () => {
    const group: Group = { all: [Object.freeze({ fact: 'a', operator: 'equal', value: 1, priority: 3 })] }

    await decideRule(Object.freeze(group), facts)

    expect(group).toEqual({ all: [{ fact: 'a', operator: 'equal', value: 1, priority: 3 }] })
  })
})
