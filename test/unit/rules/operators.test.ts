import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { OPERATORS } from '../../../domain/rules/operators.ts'
import type { FactValue } from '../../../domain/watchdog/fact-value.ts'
import { decideRule } from '../../../rules/engine/evaluate-subject.ts'
import { operatorNamed } from '../../../rules/engine/operators.ts'
import { factsOf } from '../../../rules/facts.ts'

const met = async (operator: string, fact: FactValue, value: string | number | boolean | readonly string[]) =>
  (await decideRule({ all: [{ fact: 'x', operator, value }] }, { x: fact })).met
const comparisons = Object.keys(OPERATORS).filter((name) => name !== 'known')

describe('operators', () => {
  test.each<[string, FactValue, string | number | boolean | readonly string[], boolean]>([
    ['equal', 1, 1, true],
    ['equal', '1', 1, false],
    ['notEqual', 1, 2, true],
    ['notEqual', '1', 1, false],
    ['greaterThan', 2, 1, true],
    ['greaterThan', '2', 1, false],
    ['greaterThanInclusive', 1, 1, true],
    ['lessThan', 1, 2, true],
    ['lessThanInclusive', 2, 2, true],
    ['lessThanInclusive', 3, 2, false],
    ['in', 'a', ['a', 'b'], true],
    ['in', 'a', 'abc', false],
    ['notIn', 'c', ['a', 'b'], true],
    ['notIn', 'a', ['a', 'b'], false],
    ['known', 0, true, true],
    ['known', '', true, true],
    ['known', null, true, false],
    ['known', null, false, true],
    ['known', 0, false, false],
    ['not:equal', 1, 2, true],
    ['not:equal', 1, 1, false],
  ])('decide %s of %j and %j: %j', async (operator, fact, value, expected) => {
    expect(await met(operator, fact, value)).toBe(expected)
  })

  test('are never met for null on either side', async () => {
    const scalar = fc.oneof(fc.integer(), fc.double(), fc.string(), fc.boolean(), fc.constant(null))
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...comparisons), scalar, fc.boolean(), async (operator, other, left) => {
        const facts = left ? { a: null, b: other } : { a: other, b: null }

        const { met: held } = await decideRule({ all: [{ fact: 'a', operator, value: { fact: 'b' } }] }, facts)

        expect(held).toBe(false)
      }),
    )
  })

  test('are never met for NaN or infinity', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...comparisons),
        fc.constantFrom(Number.NaN, Infinity, -Infinity),
        async (operator, fact) => {
          expect(await met(operator, fact, 5)).toBe(false)
        },
      ),
    )
  })

  test('exclude those that rules may not use', async () => {
    for (const operator of ['contains', 'doesNotContain', 'swap:lessThan', 'someFact:equal', 'everyValue:equal']) {
      await expect(met(operator, 1, 1)).rejects.toThrow('Unknown operator')
      expect(operatorNamed(operator)).toBeUndefined()
    }
  })
})

describe('facts', () => {
  test('have a meaning, and codes only as integers', () => {
    for (const subject of ['sim', 'pool', 'tenant', 'tag'] as const) {
      for (const fact of factsOf(subject).values()) {
        expect(fact.meaning).toMatch(/^[A-Z].*[^.]$/)
        if (fact.codes !== null) expect(fact.type).toBe('integer')
        if (fact.monotone) expect(fact.cycleBound).toBe(true)
      }
    }
  })

  test('are nullable only where the subject allows it', () => {
    expect(factsOf('sim').get('poolId')).toMatchObject({ nullable: true })
    expect(factsOf('pool').get('poolId')).toMatchObject({ nullable: false })
    expect(factsOf('tenant').get('poolId')).toBeUndefined()
  })
})
