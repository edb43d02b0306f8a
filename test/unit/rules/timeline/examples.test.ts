/** Timelines of several rules at once: what they say has to be so, and whatever else the rules do is a miss. */
import { globSync, readFileSync } from 'node:fs'
import { Check } from 'typebox/schema'
import { describe, expect, test } from 'vitest'
import { loadRuleSet } from '../../../../rules/load/load-rule-set.ts'
import { readTestFiles } from '../../../../rules/timeline/read-test-files.ts'
import { runTests } from '../../../../rules/timeline/run-tests.ts'
import { testFileSchema } from '../../../../rules/timeline/test-file.ts'
import { aFile, examplesOf, leaf, shippedFiles } from '../samples.ts'

const { rules } = await loadRuleSet(shippedFiles())

const RULES = new URL('../../../../rules/', import.meta.url)
const textOf = (file: string) => readFileSync(new URL(file, RULES), 'utf8')
const timelines = globSync('{sim,pool,tenant}/*.test.json', { cwd: RULES }).toSorted()
const SUSPENDS = JSON.parse(textOf('sim/sim-overage.test.json'))

const read = (file: unknown, played = rules) =>
  readTestFiles([{ file: 'x.test.json', text: JSON.stringify(file, null, 2) }], played)
const ran = async (file: unknown, played = rules) => {
  const { files, faults } = await read(file, played)
  expect(faults).toEqual([])
  return runTests(files, played)
}
const [one] = SUSPENDS.tests

describe('a timeline', () => {
  test('fits the schema for editors', () => {
    for (const file of timelines) expect(Check(testFileSchema(), JSON.parse(textOf(file))), file).toBe(true)
    expect(Check(testFileSchema(), { rules: [], tests: [] })).toBe(false)
  })

  test('that expects less tells what else was done', async () => {
    const { results } = await ran({ ...SUSPENDS, tests: [{ ...one, expect: { ...one.expect, mails: [] } }] })
    expect(results[0]?.failures).toMatchObject([
      { pointer: '/tests/0/expect/mails', expected: 'nothing else', at: { line: expect.any(Number) } },
      { pointer: '/tests/0/expect/mails', got: '+31d30s fired sim-overage, a' },
    ])
  })

  test('suspends nobody at the end of a grace while the feed is stale', async () => {
    const patient = rules.map((rule) => {
      const { params } = rule.event
      if (rule.name !== 'sim-overage' || params.suspend === undefined) return rule
      const suspend = { ...params.suspend, grace: 'P3D' }
      return { ...rule, event: { ...rule.event, params: { ...params, suspend } } }
    })
    const suspensions = [{ sim: 'a', from: '+16d' }]
    const away = { ...one, events: [], feed: { away: [['+11d1h', '+16d']] }, expect: { suspensions } }
    const { results } = await ran({ ...SUSPENDS, tests: [{ ...away, usageMB: { a: '10x9 _x2 15x10' } }] }, patient)
    expect(results[0]?.failures.filter(({ pointer }) => pointer.includes('suspensions'))).toEqual([])
  })

  test('adds up the SIMs of a tag', async () => {
    const cameras = aFile(
      {
        name: 'cameras',
        subject: 'tag',
        match: { tag: 'camera-*' },
        conditions: { all: [leaf('usageMB', 'greaterThan', 100), leaf('overSimCount', 'equal', 1)] },
        examples: examplesOf({ usageMB: 101, overSimCount: 1 }, { usageMB: 101, overSimCount: 0 }),
      },
      { message: '{{simCount}} of {{tag}}: {{usageMB}}, {{overageMB}} over', actions: ['log'] },
    )
    const loaded = await loadRuleSet([cameras])
    expect(loaded.faults).toEqual([])
    const test = {
      title: 'two cameras and a meter',
      start: '2026-11-01',
      tariffs: { flat: { type: 'Standard', allowanceMB: 70 } },
      sims: {
        a: { tariff: 'flat', tag: 'camera-1' },
        b: { tariff: 'flat', tag: 'camera-2' },
        c: { tariff: 'flat', tag: 'meter-1' },
      },
      usageMB: { a: '30', b: '0 0 80', c: '90' },
      expect: { entries: [{ at: '+2d', fired: 'cameras', subject: 'tag camera-*' }] },
    }
    const { results } = await ran({ rules: ['cameras'], tests: [test] }, loaded.rules)
    expect(results.flatMap(({ failures }) => failures)).toEqual([])
    const later = { ...test, expect: { entries: [{ at: '+3d', fired: 'cameras', subject: 'tag camera-*' }] } }
    expect((await ran({ rules: ['cameras'], tests: [later] }, loaded.rules)).results[0]?.failures).not.toEqual([])
  })

  test('has facts of the day', async () => {
    const clock = [leaf('dayOfWeek', 'equal', 3), leaf('hourOfDay', 'lessThan', 5)]
    const conditions = { all: [...clock, leaf('usageTodayMB', 'greaterThan', 3)] }
    const facts = { dayOfWeek: 3, hourOfDay: 4, usageTodayMB: 4 }
    const examples = examplesOf(facts, { ...facts, hourOfDay: 5 })
    const night = { name: 'night', subject: 'sim', conditions, examples }
    const loaded = await loadRuleSet([aFile(night, { message: 'SIM {{iccid}}', resolve: 'none' })])
    const tariffs = { flat: { type: 'Standard', allowanceMB: 100 } }
    const estate = { title: 'x', start: '2026-11-01', tariffs, sims: { a: { tariff: 'flat' } } }
    const entries = [{ at: '+3d3h', fired: 'night', subject: 'a' }]
    const expected = { entries, mails: [{ at: '+3d3h1m', notices: 1 }] }
    // A megabyte each hour, from Sunday to Thursday. The fourth of Wednesday is used at 3:00.
    const file = { rules: ['night'], tests: [{ ...estate, step: 'PT1H', usageMB: { a: '1x100' }, expect: expected }] }

    const { results } = await ran(file, loaded.rules)

    expect(loaded.faults).toEqual([])
    expect(results[0]?.failures).toEqual([])
  })

  test('finds SIMs in countries', async () => {
    const conditions = { all: [leaf('countryChanged', 'equal', true), leaf('lastCountry', 'notIn', ['DE'])] }
    const examples = examplesOf(
      { countryChanged: true, lastCountry: 'FR', lastMccMnc: '20801' },
      { countryChanged: true, lastCountry: 'DE', lastMccMnc: '26201' },
    )
    const roaming = { name: 'roaming', subject: 'sim', conditions, examples }
    const message = 'SIM {{iccid}} is in {{lastCountry}} on {{lastMccMnc}}'
    const loaded = await loadRuleSet([aFile(roaming, { message, resolve: 'none', once: 'episode' })])
    const found = (at: string, place: object) => ({ at, found: 'a', ...place })
    const events = [
      found('+1d', { country: 'DE', mccMnc: '26201' }),
      found('+2d', { rat: 'LTE' }),
      found('+3d', { country: 'FR' }),
      found('+5d', { country: 'DE' }),
    ]
    const tariffs = { flat: { type: 'Standard', allowanceMB: 100 } }
    const estate = { title: 'x', start: '2026-11-01', tariffs, sims: { a: { tariff: 'flat' } } }
    const expected = {
      entries: [{ at: '+3d', fired: 'roaming', says: 'in FR on 26201' }],
      mails: [{ at: '+3d1m', notices: 1 }],
    }

    const { results } = await ran(
      { rules: ['roaming'], tests: [{ ...estate, events, expect: expected }] },
      loaded.rules,
    )

    expect(loaded.faults).toEqual([])
    expect(results[0]?.failures).toEqual([])
  })

  test('has the average of the four weeks before a spike', async () => {
    const conditions = { all: [leaf('usage24hMB', 'greaterThan', 9), leaf('usageSpikeRatio', 'greaterThan', 5)] }
    const examples = examplesOf({ usage24hMB: 10, usageSpikeRatio: 6 }, { usage24hMB: 10, usageSpikeRatio: 5 })
    const spike = { name: 'spike', subject: 'sim', conditions, examples }
    const message = 'SIM {{iccid}}: {{usageSpikeRatio}} times {{usageAvgDayMB}}'
    const loaded = await loadRuleSet([aFile(spike, { message, resolve: 'none', actions: ['log'] })])
    const tariffs = { flat: { type: 'Standard', allowanceMB: 100 } }
    const estate = { title: 'x', start: '2026-11-01', tariffs, sims: { a: { tariff: 'flat' } } }
    const entries = [{ at: '+40d', fired: 'spike', subject: 'a', says: '11 times 1 MB' }]
    // Before the first spike too little is known. The second has 10 MB beside one of the day before.
    const usageMB = { a: '1x5 20 1x34 10' }
    const file = { rules: ['spike'], tests: [{ ...estate, usageMB, expect: { entries } }] }

    const { results } = await ran(file, loaded.rules)

    expect(loaded.faults).toEqual([])
    expect(results[0]?.failures).toEqual([])
  })

  test('that is wrong tells expected beside got', async () => {
    const suspensions = ['+12d', '+31d'].map((from) => ({ sim: 'a', from }))
    const { results } = await ran({ ...SUSPENDS, tests: [{ ...one, expect: { ...one.expect, suspensions } }] })
    expect(results[0]?.failures[0]).toMatchObject({
      pointer: '/tests/0/expect/suspensions/0',
      got: 'a from +11d to +14d12h, by sim-overage',
    })
  })
})

describe('a test file', () => {
  const but = (changes: object) => ({ ...SUSPENDS, tests: [{ ...one, ...changes }] })
  test.each([
    ['an unknown rule', { ...SUSPENDS, rules: ['sim-overrage'] }, '/rules/0'],
    ['a series', but({ usageMB: { a: '10y9' } }), '/tests/0/usageMB/a'],
    ['a stranger', but({ usageMB: { b: '1' } }), '/tests/0/usageMB/b'],
    ['two things at once', but({ events: [{ at: '+1d', set: 'a', device: 'a' }] }), '/tests/0/events/0'],
    ['facts beside SIMs', but({ facts: { overageMB: 1 } }), '/tests/0/tariffs'],
    ['an endless timeline', but({ cycle: 'PT1M' }), '/tests/0'],
  ])('with %s is refused with its place', async (_, file, pointer) => {
    const { files, faults } = await read(file)
    const at = { line: expect.any(Number), column: expect.any(Number) }
    expect(files).toEqual([])
    expect(faults[0]).toMatchObject({ file: 'x.test.json', pointer, at })
  })
})

describe('SIMs in stock', () => {
  const rule = (name: string, match: object, conditions: object[], facts: readonly [object, object], params = {}) => ({
    ...aFile(
      { name, subject: 'sim', match, conditions: { all: conditions }, examples: examplesOf(...facts) },
      { message: `${name} {{statusAgeHours}}`, actions: ['log'], stage: 'log', ...params },
    ),
    file: `sim/${name}.json`,
  })
  const aged = (name: string, match: object, params = {}) =>
    rule(
      name,
      match,
      [leaf('statusAgeHours', 'greaterThan', 'P90D')],
      [{ statusAgeHours: 2161 }, { statusAgeHours: 2160 }],
      { once: 'episode', ...params },
    )
  const used = (name: string, match: object) =>
    rule(name, match, [leaf('usageMB', 'greaterThan', 5)], [{ usageMB: 6 }, { usageMB: 5 }], { once: 'cycle' })
  const tariffs = { flat: { type: 'Dynamic Pool', allowanceMB: 100 } }
  const pools = { meters: { tariff: 'flat' } }
  const played = async (files: ReturnType<typeof rule>[], changes: object, expected: object) => {
    const loaded = await loadRuleSet(files)
    const test = { title: 'x', start: '2026-01-01', tariffs, pools, ...changes, expect: expected }
    const names = loaded.rules.map(({ name }) => name)
    const { results } = await ran({ rules: names, tests: [test] }, loaded.rules)
    expect(loaded.faults).toEqual([])
    return results[0]?.failures
  }

  test('are told of after ninety days, until they are provisioned', async () => {
    const sims = { a: { pool: 'meters', status: 'Unprovisioned' }, b: { pool: 'meters' }, c: { pool: 'meters' } }
    const events = [
      { at: '+100d', set: 'a', status: 'Active' },
      { at: '+10d', set: 'b', status: 'Unprovisioned' },
      { at: '+105d', set: 'b', status: 'Suspended' },
    ]
    const entries = [
      { at: '+90d', fired: 'stock', subject: 'a', says: 'stock 90 d' },
      { at: '+100d', resolved: 'stock', subject: 'a' },
      { at: '+100d', fired: 'stock', subject: 'b' },
      { at: '+105d', resolved: 'stock', subject: 'b' },
      { at: '+90d', fired: 'same', subject: 'c' },
    ]
    const files = [aged('stock', { status: ['Unprovisioned'] }), aged('same', {})]

    expect(await played(files, { sims, events }, { entries })).toEqual([])
  })

  test('end the alerts of other rules, and count for no pool', async () => {
    const sims = { a: { pool: 'meters' }, b: { pool: 'meters' } }
    const events = [
      { at: '+5d', set: 'a', status: 'Unprovisioned' },
      { at: '+6d', use: 'a', MB: 7 },
    ]
    const ofPool = aFile(
      {
        name: 'pool-used',
        conditions: { all: [leaf('usageMB', 'greaterThan', 9), leaf('totalSimCount', 'equal', 1)] },
        examples: examplesOf({ usageMB: 10, totalSimCount: 1 }, { usageMB: 9, totalSimCount: 1 }),
      },
      { actions: ['log'], stage: 'log', message: 'has {{usageMB}} of {{limitMB}}' },
    )
    const entries = [
      { at: '+0d', fired: 'used', subject: 'a' },
      { at: '+5d', withdrawn: 'used', subject: 'a' },
      // Used in the pool before, and outside pools since. The feed was stale from +1d12h on.
      { at: '+6d', fired: 'pool-used', subject: 'meters', says: 'has 10 of 200 MB' },
      { at: '+6d', fired: 'used-in-stock', subject: 'a' },
    ]
    const files = [used('used', {}), used('used-in-stock', { status: ['Unprovisioned'] }), ofPool]

    expect(await played(files, { sims, events, usageMB: { a: '10' } }, { entries })).toEqual([])
  })
})
