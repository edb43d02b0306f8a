import { describe, expect, test } from 'vitest'
import { firedMessage } from '../../../rules/alerts/message.ts'
import { evaluateSubject } from '../../../rules/engine/evaluate-subject.ts'
import { type FactName, type Facts, factsOf } from '../../../rules/facts.ts'
import {
  ALL_FACTS,
  type FactNames,
  NO_FACTS,
  neededToDecide,
  neededToTell,
  readFactsOf,
  readingSims,
  windowsSince,
} from '../../../rules/facts-needed.ts'
import { momentOf, simFactsOf } from '../../../rules/facts-of.ts'
import { randomFrom, SEED } from '../../setup/seed.ts'
import { aMoment, aSim } from './compile/subjects.ts'
import { aRule, examplesOf, leaf, NOVEMBER } from './samples.ts'

const TENANT = 't0123456789ab'
const DAY = 86_400_000
const onSims = {
  subject: 'sim',
  conditions: { all: [leaf('usage24hMB', 'greaterThan', 9)] },
  examples: examplesOf({ usage24hMB: 10 }, { usage24hMB: 9 }),
}
const logged = { actions: ['log'], message: 'SIM {{iccid}} has used {{usage24hMB}}.' }
const simsOnly = (...names: FactName[]): FactNames => ({ ...NO_FACTS, sim: new Set(names) })

describe('neededToDecide', () => {
  test('names facts of conditions, clear and occurrence', async () => {
    const clear = { all: [leaf('usage7dMB', 'lessThan', 5)] }
    const ending = await aRule(onSims, { ...logged, once: 'episode', clear })
    const occurring = await aRule(onSims, {
      ...logged,
      once: 'occurrence',
      occurrence: 'deviceChange',
      resolve: 'none',
    })

    expect(neededToDecide([ending], TENANT)).toEqual(simsOnly('usage24hMB', 'usage7dMB'))
    expect(neededToDecide([ending, occurring], TENANT)).toEqual(simsOnly('usage24hMB', 'usage7dMB', 'deviceChange'))
  })

  test('leaves out rules that are off, or of another tenant', async () => {
    const off = await aRule(onSims, { ...logged, stage: 'off' })
    const foreign = await aRule({ ...onSims, match: { tenant: 'tffffffffffff' } }, logged)

    expect(neededToDecide([off, foreign], TENANT)).toEqual(NO_FACTS)
  })
})

describe('neededToTell', () => {
  test('adds the facts of messages', async () => {
    const rule = await aRule(onSims, { ...logged, message: '{{ sms1h }}', resolvedMessage: 'Now {{sms24h}}.' })

    expect(neededToTell([rule], TENANT)).toEqual(simsOnly('usage24hMB', 'sms1h', 'sms24h'))
  })

  test('adds the rate by which a mail foretells', async () => {
    expect(neededToTell([await aRule(onSims, { ...logged, actions: ['log', 'email'] })], TENANT).sim).toEqual(
      new Set(['usage24hMB', 'iccid', 'burnLongRatio']),
    )
  })
})

describe('windowsSince', () => {
  const newestAt = new Date(NOVEMBER.startsAt + 20 * DAY)
  const { windows } = momentOf({
    at: newestAt.getTime(),
    cycle: NOVEMBER,
    billingCycle: 'P1M',
    timeZone: 'UTC',
    currency: 'EUR',
    feedTimes: { receivedAt: newestAt, newestAt, activeSince: null, feedEvery: 'P1D' },
  })
  const back = (needed: FactNames) => {
    const since = windowsSince('sim', needed, windows)
    return since === null ? null : (newestAt.getTime() - since.getTime()) / DAY
  }

  test.each<[number | null, FactName[]]>([
    [null, []],
    [null, ['usageMB', 'silentPct']],
    [1 / 24, ['sms1h']],
    [1, ['sms1h', 'usage24hMB']],
    [2.5, ['usage24hMB', 'forecastPct']],
    [7, ['usage7dMB']],
    [29, ['usageAvgDayMB']],
    [29, ['usage7dMB', 'usageSpikeRatio']],
  ])('goes back %s days for %j', (days, names) => {
    expect(back(simsOnly(...names))).toBe(days)
  })

  test('of a pool does not go back for facts of SIMs', () => {
    expect(windowsSince('pool', simsOnly('usageAvgDayMB'), windows)).toBe(null)
  })
})

describe('a fact that was not read', () => {
  const random = randomFrom(SEED)
  const moment = aMoment(random)
  const sim = aSim(random, moment)
  const onDemand = [...factsOf('sim').values()].filter(({ isOnDemand }) => isOnDemand).map(({ name }) => name)

  test('is missing, and others are as if all were', () => {
    const all: Facts = simFactsOf(sim, moment)
    const read: Facts = readingSims(simsOnly('sms1h'))(sim, moment)

    expect(onDemand).toContain('usageSpikeRatio')
    expect(new Set(Object.keys(all).filter((name) => !(name in read)))).toEqual(
      new Set(onDemand.filter((name) => name !== 'sms1h')),
    )
    expect(all).toMatchObject(read)
    expect(readFactsOf('sim', simsOnly('sms1h'), simFactsOf(sim, moment))).toEqual(read)
    expect(readingSims(ALL_FACTS)(sim, moment)).toEqual(all)
  })

  test('decides nothing, and is said to be unknown', async () => {
    const rule = await aRule(onSims, { ...logged, message: '{{usage24hMB}} used' })
    const facts: Facts = readingSims(NO_FACTS)(sim, moment)

    expect(await evaluateSubject([rule], facts)).toMatchObject([
      { met: false, error: expect.stringContaining('usage24hMB') },
    ])
    expect(firedMessage(rule, facts)).toBe('unknown used')
  })
})
