import { describe, expect, test } from 'vitest'
import { differencesBetween } from '../../../../rules/compile/compare.ts'
import { COMPARISONS } from '../../../../rules/compile/comparisons.ts'
import { compileSet } from '../../../../rules/compile/compile-set.ts'
import { rowOf } from '../../../../rules/compile/row.ts'
import { evaluateSubject } from '../../../../rules/engine/evaluate.ts'
import { rulesFor } from '../../../../rules/engine/match.ts'
import { loadRuleSet } from '../../../../rules/load/load.ts'
import { randomFrom, SEED } from '../../../setup/seed.ts'
import { shippedFiles } from '../samples.ts'

import { aSubject } from './subjects.ts'

const { rules } = await loadRuleSet(shippedFiles())
const set = compileSet({ rules })
const broken = compileSet({ rules }, { ...COMPARISONS, greaterThan: COMPARISONS.greaterThanInclusive })
const to = { subject: 'sim', tenantId: 't', poolName: null, tag: '', tariffType: 'Standard' } as const
const attached = rulesFor(rules, to)

/** All facts of a SIM that has used nothing. */
const idle = {
  overageMB: 0,
  usagePct: 0,
  warningThresholdPct: 80,
  status: 1,
  activeForPct: 1,
  feedAgePct: 0,
  silentPct: 0,
  neverSeen: false,
  imeiChanged: false,
  imei: '',
  deviceChange: null,
  enableBurnRateAlerts: false,
  elapsedPct: 50,
  burnShortRatio: 0,
  burnLongRatio: 0,
  forecastPct: 0,
}

describe('differencesBetween', () => {
  test('finds none between the engine and the shipped rules', async () => {
    const random = randomFrom(SEED)
    for (let n = 0; n < 1000; n += 1) {
      const { moment, factsAt } = aSubject('sim', random)
      const facts = factsAt(moment.at)

      expect(
        differencesBetween(await evaluateSubject(attached, facts), set.attach(to), rowOf(facts)),
        `seed ${SEED}`,
      ).toEqual([])
    }
  })

  test('names the rule, and what each says', async () => {
    const outcomes = await evaluateSubject(attached, idle)

    expect(differencesBetween(outcomes, broken.attach(to), rowOf(idle))).toEqual([
      { rule: 'sim-overage', part: 'conditions', engine: 'not met', compiled: 'met' },
    ])
  })

  test('finds clear conditions and occurrences that differ', async () => {
    const outcomes = await evaluateSubject(attached, idle)
    const others = outcomes.map((outcome) => ({
      ...outcome,
      ...(outcome.clear === undefined ? {} : { clear: !outcome.clear }),
      ...(outcome.rule.name === 'sim-imei-change' ? { occurrence: '49' } : {}),
    }))

    expect(differencesBetween(others, set.attach(to), rowOf(idle))).toEqual([
      { rule: 'sim-imei-change', part: 'occurrence', engine: '49', compiled: 'null' },
      { rule: 'sim-never-seen', part: 'clear', engine: 'not met', compiled: 'met' },
      { rule: 'sim-silent', part: 'clear', engine: 'not met', compiled: 'met' },
    ])
  })

  test('finds rules that only one of the two has attached', async () => {
    const outcomes = await evaluateSubject(attached, idle)
    const [, ...fewer] = set.attach(to)

    expect(differencesBetween(outcomes, fewer, rowOf(idle))).toEqual([
      { rule: 'sim-burn-rate', part: 'attached', engine: 'yes', compiled: 'no' },
    ])
    expect(differencesBetween(outcomes.slice(1), set.attach(to), rowOf(idle))).toEqual([
      { rule: 'sim-burn-rate', part: 'attached', engine: 'no', compiled: 'yes' },
    ])
  })

  test('asks nothing of what is unknown, and no answer where the engine fails', async () => {
    const { overageMB: _, ...facts } = idle
    const failed = await evaluateSubject(attached, facts)
    const decided = await evaluateSubject(attached, idle)

    expect(differencesBetween(failed, set.attach(to), rowOf(facts))).toEqual([])
    expect(differencesBetween(decided, set.attach(to), rowOf(facts))).toEqual([])
    expect(differencesBetween(failed, set.attach(to), rowOf(idle))).toMatchObject([
      { rule: 'sim-overage', part: 'conditions', engine: 'failed: Undefined fact: overageMB', compiled: 'not met' },
    ])
  })
})
