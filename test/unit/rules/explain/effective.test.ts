/** Whether a rule can be met with the settings of a subject, whatever its other facts are. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SimStatus } from '../../../../domain/codes.ts'
import { YES } from '../../../../rules/compile/comparisons.ts'
import { compileConditions } from '../../../../rules/compile/compile-conditions.ts'
import { rowOf } from '../../../../rules/compile/fact-row.ts'
import type { Condition } from '../../../../rules/conditions.ts'
import { effectiveBy } from '../../../../rules/explain/effective.ts'
import type { Facts } from '../../../../rules/facts.ts'
import { cases } from '../../../setup/cases.ts'
import { aRule, conditionsOver, leaf } from '../samples.ts'

const rule = await aRule()
const matched = {
  subject: 'sim',
  tenantId: 't1',
  poolName: null,
  tag: '',
  tariffType: null,
  status: SimStatus.Active,
} as const
const reasonWith = (conditions: Condition, settings: Facts) => {
  const one: any = { ...rule, name: 'one', subject: 'sim', match: {}, conditions }
  one.event = { ...rule.event, params: { ...rule.event.params, stage: 'log' } }
  return effectiveBy([one])({ matched, unwatched: null, settings }).reason
}

const THRESHOLD = { fact: 'warningThresholdPct' }
const atThreshold = leaf('usagePct', 'greaterThanInclusive', THRESHOLD)
const isOn = leaf('enableBurnRateAlerts', 'equal', true)
const isUsed = leaf('usagePct', 'greaterThan', 50)
const NONE = { warningThresholdPct: null, enableBurnRateAlerts: false }

const RUNS = cases(2000)

describe('a rule that is attached', () => {
  test.each<[string, Condition, Facts, string | null]>([
    ['a fact alone decides', isUsed, NONE, null],
    ['no threshold', { all: [atThreshold] }, NONE, 'threshold'],
    ['a threshold', { all: [atThreshold] }, { ...NONE, warningThresholdPct: 80 }, null],
    ['another way', { any: [atThreshold, isUsed] }, NONE, null],
    ['no threshold known', leaf('warningThresholdPct', 'known', false), NONE, null],
    ['the other way round', leaf('warningThresholdPct', 'lessThan', { fact: 'usagePct' }), NONE, 'threshold'],
    ['not below it', { not: leaf('usagePct', 'lessThan', THRESHOLD) }, NONE, null],
    ['alerts are off', { all: [isOn, isUsed] }, NONE, 'settings'],
    ['both are missing', { all: [isOn, atThreshold] }, NONE, 'settings'],
    ['off is asked for', { not: { all: [isOn] } }, NONE, null],
  ])('%s', (_, conditions, settings, reason) => {
    expect(reasonWith(conditions, settings)).toBe(reason)
  })

  test.each<[string, readonly (keyof typeof SimStatus)[] | undefined, 'exempt' | null, string | null]>([
    ['no rule about stock', undefined, 'exempt', 'notProvisioned'],
    ['a rule about stock', ['Unprovisioned'], null, null],
    ['a rule about stock, and an exempt SIM', ['Unprovisioned'], 'exempt', 'exempt'],
  ])('an Unprovisioned SIM has %s', (_, status, unwatched, reason) => {
    const match = status === undefined ? {} : { status: [...status] }
    const params = { ...rule.event.params, stage: 'log' as const }
    const stock = { ...rule, subject: 'sim' as const, match, event: { ...rule.event, params } }
    const inStock = { ...matched, status: SimStatus.Unprovisioned }

    expect(effectiveBy([stock])({ matched: inStock, unwatched, settings: {} }).reason).toBe(reason)
  })

  test('holds for no facts where it cannot', () => {
    const { condition } = conditionsOver(
      fc.constantFrom<Condition>(
        atThreshold,
        isOn,
        isUsed,
        leaf('usagePct', 'not:lessThan', THRESHOLD),
        leaf('warningThresholdPct', 'equal', { fact: 'usagePct' }),
        leaf('usagePct', 'known', false),
      ),
    )
    const settings = fc.record({
      warningThresholdPct: fc.constantFrom(null, 40, 60),
      enableBurnRateAlerts: fc.boolean(),
    })
    let cannot = 0
    fc.assert(
      fc.property(condition, settings, fc.constantFrom(null, 0, 40, 55, 100), (conditions, own, usagePct) => {
        if (reasonWith(conditions, own) === null) return
        cannot += 1
        expect(compileConditions(conditions, 'sim').decide(rowOf({ ...own, usagePct }))).not.toBe(YES)
      }),
      { numRuns: RUNS },
    )
    expect(cannot).toBeGreaterThan(RUNS / 20)
  })
})
