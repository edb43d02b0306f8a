/** What would have to change for a rule to fire, and how far. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Condition, Group } from '../../../../rules/conditions.ts'
import { decideRule } from '../../../../rules/engine/evaluate-subject.ts'
import {
  afterMoves,
  aged,
  goalOf,
  type NearestMove,
  nearestMoves,
  reachedInTime,
} from '../../../../rules/explain/nearest-moves.ts'
import { moveWords } from '../../../../rules/explain/words.ts'
import { type Facts, factsOf } from '../../../../rules/facts.ts'
import { cases } from '../../../setup/cases.ts'
import { conditionsOver, leaf, NOVEMBER } from '../samples.ts'

const all = (...members: Condition[]): Group => ({ all: members })
const words = (goal: Condition, facts: Facts) =>
  nearestMoves(goal, 'sim', facts).map((way) => way.map((move) => moveWords(move, 'sim')).join(', and '))
const AT_80 = all(leaf('usagePct', 'greaterThanInclusive', { fact: 'warningThresholdPct' }))

describe('the nearest miss', () => {
  const ABOVE_80 = all(leaf('usagePct', 'greaterThan', 80))
  const BELOW_80 = all(leaf('usagePct', 'lessThan', 80))
  const IS_ON = leaf('enableBurnRateAlerts', 'equal', true)
  const OFF = { enableBurnRateAlerts: false }
  const BOTH = all(leaf('usagePct', 'greaterThanInclusive', 80), IS_ON)
  test.each<[string, Condition, Facts]>([
    ['usagePct rises by more than 4 %, above 80 %', ABOVE_80, { usagePct: 76 }],
    ['usagePct rises above 80 %', ABOVE_80, { usagePct: 80 }],
    ['usagePct falls by more than 1 %, below 80 %', BELOW_80, { usagePct: 81 }],
    ['smsCount rises by 3 to 6', all(leaf('smsCount', 'greaterThan', 5)), { smsCount: 3 }],
    ['usagePct becomes known, above 80 %', ABOVE_80, { usagePct: null }],
    ['enableBurnRateAlerts becomes true', all(IS_ON), OFF],
    ['status becomes Active', all(leaf('status', 'equal', 1)), { status: 2 }],
    ['tag becomes van', all(leaf('tag', 'in', ['van', 'car'])), { tag: 'bus' }],
    ['tag becomes another than van', all(leaf('tag', 'notEqual', 'van')), { tag: 'van' }],
    ['usagePct rises by 10 % to 80 %, and enableBurnRateAlerts becomes true', BOTH, { usagePct: 70, ...OFF }],
  ])('is: %s', (expected, goal, facts) => {
    expect(words(goal, facts)).toEqual([expected])
  })

  test('is to a threshold, or of the threshold', () => {
    expect(words(AT_80, { usagePct: 76.8, warningThresholdPct: 80 })).toEqual([
      'usagePct rises by 3.2 % to 80 %',
      'warningThresholdPct falls by 4 % to 76 %',
    ])
  })

  test('is none beyond what a fact can be, nor where it holds', () => {
    expect(words(all(leaf('elapsedPct', 'greaterThan', 100)), { elapsedPct: 50 })).toEqual([])
    expect(words(ABOVE_80, { usagePct: 81 })).toEqual([])
  })

  test('of an episode waits for its clear conditions', () => {
    const rule = { conditions: ABOVE_80, clear: all(leaf('usagePct', 'lessThan', 70)) }

    expect(words(goalOf(rule, true), { usagePct: 90 })).toEqual(['usagePct falls by more than 20 %, below 70 %'])
  })
})

const NUMBERS = ['usagePct', 'warningThresholdPct', 'overageMB', 'smsCount'] as const
const value = fc.oneof(
  fc.integer({ min: 0, max: 100 }),
  fc.double({ min: 0, max: 100, noNaN: true }).map((one) => Math.round(one * 1e4) / 1e4),
)
const number = fc.constantFrom(...NUMBERS)
const comparison = fc
  .tuple(
    number,
    fc.constantFrom('lessThan', 'lessThanInclusive', 'greaterThan', 'greaterThanInclusive', 'equal', 'notEqual'),
    fc.oneof({ weight: 4, arbitrary: value }, { weight: 1, arbitrary: number.map((fact) => ({ fact })) }),
  )
  .map(([fact, operator, operand]) => ({ fact, operator, value: operand }))
const { group } = conditionsOver(comparison)
const facts = fc.record({
  usagePct: fc.option(value),
  warningThresholdPct: fc.option(fc.integer({ min: 1, max: 100 })),
  overageMB: value,
  smsCount: fc.integer({ min: 0, max: 100 }),
})

/** A little less of a move; null where there is no less. */
function aLittleLess({ fact, from, to, by, isBeyond }: NearestMove): number | null {
  if (typeof from !== 'number' || typeof to !== 'number' || by === null) return null
  if (isBeyond) return to
  if (factsOf('sim').get(fact)?.type === 'integer') return to + Math.sign(from - to)
  return to + (from - to) * 1e-6
}

const RUNS = cases(2000)

test('what it says flips the rule, and a little less does not', { timeout: 0 }, async () => {
  let ways = 0
  await fc.assert(
    fc.asyncProperty(group, facts, async (conditions, given) => {
      for (const way of nearestMoves(conditions, 'sim', given)) {
        ways += 1
        expect((await decideRule(conditions, afterMoves(given, way))).met).toBe(true)
        const [move, more] = way
        const less = move === undefined || more !== undefined ? null : aLittleLess(move)
        if (move !== undefined && less !== null)
          expect((await decideRule(conditions, { ...given, [move.fact]: less })).met).toBe(false)
      }
    }),
    { numRuns: RUNS },
  )
  expect(ways).toBeGreaterThan(RUNS / 4)
})

describe('time alone', () => {
  const now = Date.UTC(2026, 10, 20)
  const moment = { now, cycle: NOVEMBER }
  const given = { hoursSinceLastSeen: 10, usagePct: 50, elapsedPct: 63, feedAgePct: 1 }

  test('reaches what ages', () => {
    const goal = all(leaf('hoursSinceLastSeen', 'greaterThanInclusive', 24))
    const at = reachedInTime(goal, 'sim', given, moment) ?? 0

    expect(new Date(at).toISOString()).toMatch(/^2026-11-20T14:00:00\.00\dZ$/)
  })

  test('reaches nothing else, and nothing after the cycle', () => {
    const never = [leaf('usagePct', 'greaterThan', 80), leaf('hoursSinceLastSeen', 'greaterThan', 1000)]

    expect(never.map((one) => reachedInTime(all(one), 'sim', given, moment))).toEqual([null, null])
  })

  test('reaches it then, and not before', { timeout: 0 }, async () => {
    const share = fc.double({ min: 0, max: 100, noNaN: true })
    await fc.assert(
      fc.asyncProperty(
        fc.array(share, { minLength: 3, maxLength: 3 }),
        fc.boolean(),
        async ([a = 0, b = 0, c = 0], isAny) => {
          const members = [
            leaf('hoursSinceLastSeen', 'greaterThan', a),
            leaf('elapsedPct', 'greaterThanInclusive', b),
            leaf('feedAgePct', 'lessThan', c),
          ]
          const goal: Group = isAny ? { any: members } : { all: members }
          const at = reachedInTime(goal, 'sim', given, moment)
          if (at === null) return
          const after = async (ms: number) => (await decideRule(goal, aged(given, 'sim', NOVEMBER, ms))).met
          expect([await after(at - now), await after(Math.max(0, at - now - 3))]).toEqual([true, false])
        },
      ),
      { numRuns: cases(300) },
    )
  })
})
