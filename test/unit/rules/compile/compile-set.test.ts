import { describe, expect, test } from 'vitest'
import { SimStatus } from '../../../../domain/codes.ts'
import { attacher } from '../../../../rules/compile/attach.ts'
import { compileSet, readsOf } from '../../../../rules/compile/compile-set.ts'
import { placeOfFact, ROW_LENGTH, rowOf } from '../../../../rules/compile/fact-row.ts'
import { type MatchProperties, rulesFor } from '../../../../rules/engine/match.ts'
import { loadRuleSet } from '../../../../rules/load/load-rule-set.ts'
import type { Rule } from '../../../../rules/rule.ts'
import { cases } from '../../../setup/cases.ts'
import { randomFrom, SEED } from '../../../setup/seed.ts'
import { aRule, examplesOf, leaf, NOVEMBER, shippedFiles } from '../samples.ts'

const shipped = async () => compileSet(await loadRuleSet(shippedFiles()))
const ruleNamed = async (name: string) => (await shipped()).rules.find(({ rule }) => rule.name === name)!

describe('compileSet', () => {
  test('names the facts of conditions, clear and occurrence', async () => {
    expect((await ruleNamed('sim-silent')).reads).toEqual(['status', 'activeForPct', 'feedAgePct', 'silentPct'])
    expect((await ruleNamed('sim-never-seen')).reads).toContain('neverSeen')
    expect((await ruleNamed('sim-imei-change')).reads).toEqual(['imeiChanged', 'deviceChange'])
    const ofFeed = ['activeSimCount', 'feedAgeMinutes', 'feedLimitMinutes']
    expect((await ruleNamed('usage-feed-silent')).reads).toEqual(ofFeed)
    expect(readsOf((await shipped()).rules, 'tenant')).toEqual([
      'usageMB',
      'elapsedPct',
      'forecastOverageCostPct',
      'simCount',
      'failedTicketCount',
      'failedTicketPct',
      ...ofFeed,
    ])
  })

  test('flips no later than conditions, clear and the cycle', async () => {
    const rule = await aRule(
      {
        conditions: { all: [leaf('elapsedPct', 'greaterThan', 60)] },
        examples: examplesOf({ elapsedPct: 61 }, { elapsedPct: 60 }),
      },
      { once: 'episode', clear: { all: [leaf('elapsedPct', 'greaterThan', 50)] } },
    )
    const [compiled] = compileSet({ rules: [rule] }).rules
    const at = (pct: number) => NOVEMBER.startsAt + ((NOVEMBER.endsAt - NOVEMBER.startsAt) * pct) / 100
    const flip = (pct: number) =>
      compiled?.flipAt(rowOf({ elapsedPct: pct }), { now: at(pct), cycle: NOVEMBER }, 0) ?? 0

    expect([10, 55, 70].map(flip).map((ms) => Math.round(ms / 1000))).toEqual(
      [at(50), at(60), NOVEMBER.endsAt].map((ms) => Math.round(ms / 1000)),
    )
  })
})

describe('rowOf', () => {
  test('puts facts into their places, and leaves out the others', () => {
    const row = rowOf({ usagePct: 5, warningThresholdPct: null })

    expect(row).toHaveLength(ROW_LENGTH)
    expect(row[placeOfFact('usagePct')]).toBe(5)
    expect(row[placeOfFact('warningThresholdPct')]).toBeNull()
    expect(row.filter((value) => value !== undefined)).toHaveLength(2)
    expect(() => placeOfFact('usagPct')).toThrow('got the fact usagPct')
  })
})

describe('attach', () => {
  const TEXTS = ['', 'a', 'ab', 'abc', 'van-1', 'van-2-x', 'xx', 'a*b', '*']
  const PATTERNS = ['*', 'a*', '*b', 'a*c', 'van-*', 'van-*-x', '**', 'a*b*c', 'abc', 'x*x']
  const TYPES = ['Standard', 'Dynamic Pool', 'Fixed Pool'] as const
  const STATUSES = ['Active', 'Unprovisioned', 'Suspended'] as const
  const KINDS = ['sim', 'pool', 'tenant', 'tag'] as const

  test.each([100_000, 7])('gives the rules of rulesFor, with at most %i kept', { timeout: 0 }, async (mostKept) => {
    const random = randomFrom(SEED)
    const some = await aRule()
    const maybe = (pick: () => object) => (random.chance(0.4) ? pick() : {})
    const rules: Rule[] = Array.from({ length: 30 }, (_, n) => ({
      ...some,
      name: `rule-${n}`,
      subject: random.pick(KINDS),
      match: {
        ...maybe(() => ({ tenant: random.pick(PATTERNS) })),
        ...maybe(() => ({ pool: random.pick(PATTERNS) })),
        ...maybe(() => ({ tag: random.pick(PATTERNS) })),
        ...maybe(() => ({ tariffType: random.chance(0.5) ? random.pick(TYPES) : TYPES.slice(random.below(2)) })),
        ...maybe(() => ({ status: STATUSES.slice(random.below(3)) })),
      },
    }))
    const [compiled] = compileSet({ rules: [some] }).rules
    const attach = attacher(
      rules.map((rule) => ({ ...compiled!, rule })),
      mostKept,
    )

    for (let n = 0; n < cases(20_000); n += 1) {
      const to: MatchProperties = {
        subject: random.pick(KINDS),
        tenantId: random.pick(TEXTS),
        poolName: random.pick([null, ...TEXTS]),
        tag: random.pick([null, ...TEXTS]),
        tariffType: random.pick([null, ...TYPES]),
        status: random.pick([null, ...Object.values(SimStatus)]),
      }
      expect(attach(to).map(({ rule }) => rule.name)).toEqual(rulesFor(rules, to).map(({ name }) => name))
    }
  })

  test('gives subjects of one class the same list', async () => {
    const { attach } = await shipped()
    const seat = { poolName: 'Vans', tag: 'a', tariffType: 'Standard', status: SimStatus.Active } as const
    const sim = { subject: 'sim', tenantId: 't', ...seat } as const

    expect(attach(sim)).toBe(attach({ ...sim, tag: 'b', poolName: 'Cars' }))
    expect(attach(sim)).not.toBe(attach({ ...sim, tariffType: 'Fixed Pool' }))
    expect(attach({ ...sim, status: SimStatus.Unprovisioned })).toEqual([])
  })
})
