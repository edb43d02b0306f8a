import { describe, expect, test } from 'vitest'
import { MB } from '../../../domain/units.ts'
import { momentOf, simFactsOf } from '../../../rules/facts-of.ts'
import { randomFrom, SEED } from '../../setup/seed.ts'
import { aSim } from './compile/subjects.ts'
import { NOVEMBER } from './samples.ts'

const DAY = 86_400_000
const newestAt = new Date(NOVEMBER.startsAt + 20 * DAY)
const feedTimes = { receivedAt: newestAt, newestAt, activeSince: null, feedEvery: 'P1D' }
const moment = momentOf({
  at: newestAt.getTime(),
  cycle: NOVEMBER,
  billingCycle: 'P1M',
  timeZone: 'UTC',
  currency: 'EUR',
  feedTimes,
})
const known = aSim(randomFrom(SEED), moment)

/** The average and the spike. @param since days before the last 24 hours; null: there is no record */
function averaged(since: number | null, averageMB: number, dayMB: number) {
  const averageSince = since === null ? null : new Date(moment.windows.day.getTime() - since * DAY)
  const row = { ...known, averageSince, averageBytes: averageMB * MB, dayBytes: dayMB * MB }
  const { usageAvgDayMB, usageSpikeRatio } = simFactsOf(row, moment)
  return [usageAvgDayMB, usageSpikeRatio]
}

describe('the average of a SIM', () => {
  test.each<[string, number | null, number, number, (number | null)[]]>([
    ['is over four weeks', 28, 56, 10, [2, 5]],
    ['is since the first record in them', 7, 56, 4, [8, 0.5]],
    ['is unknown of less than a week', 6.9, 56, 4, [null, null]],
    ['is unknown without a record', null, 0, 4, [null, null]],
    ['of 0 has no multiple', 28, 0, 4, [0, null]],
    ['below 0 has no multiple', 28, -28, 4, [-1, null]],
    ['leaves out the spike', 28, 28, 0, [1, 0]],
  ])('%s', (_, since, averageMB, dayMB, facts) => {
    expect(averaged(since, averageMB, dayMB)).toEqual(facts)
  })
})
