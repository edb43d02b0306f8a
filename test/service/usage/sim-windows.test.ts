/** What SIMs have used in a window is summed over their records. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { TariffType } from '../../../domain/codes.ts'
import { readSituation } from '../../../service/watchdog/read-batch.ts'
import { poolWindowSums, simWindowSums } from '../../../service/watchdog/rows/facts.ts'
import { aStore } from '../../setup/estate.ts'
import { aHarness } from '../harness.ts'

const NOW = Date.UTC(2026, 10, 20, 12, 3)
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const BUCKET = 5 * MINUTE

test('today is a day of the tenant’s time zone', async () => {
  const store = await aStore()
  store.now = NOW
  const harness = await aHarness(store)
  await harness.rows(sql`update tenants set time_zone = 'Asia/Kathmandu'`)

  const { moment } = await harness.asTenant((tx) => readSituation(tx))

  const startsAt = Date.UTC(2026, 10, 19, 18, 15)
  expect(moment.time).toMatchObject({ hourOfDay: 17, dayOfWeek: 5 })
  expect(moment.windows.today).toEqual(new Date(startsAt))
})

describe('windows of a SIM', () => {
  test('are those of a pool that it is alone in', async () => {
    const store = await aStore()
    store.now = NOW
    const harness = await aHarness(store)
    const poolId = await harness.aPool(TariffType.Standard, 1)
    const [simId = 0] = await harness.activeSims(1, { poolId })
    store.now = NOW + 30 * DAY
    const start = (ms: number) => Math.floor((store.now - ms) / BUCKET) * BUCKET
    const windows = {
      short: start(6 * HOUR),
      long: start(60 * HOUR),
      hour: start(HOUR),
      day: start(DAY),
      week: start(7 * DAY),
      average: start(29 * DAY),
      today: start(12 * HOUR),
    }
    const edges = Object.values(windows).flatMap((at) => [at - 1, at, at + 1, at + BUCKET])
    const instants = [...edges, store.now, store.now + 4 * MINUTE]
    const until = start(0) + BUCKET
    const usedIn = (from: number, to = until) =>
      instants.reduce((sum, at, n) => (at >= from && at < to ? sum + 2 ** n + n : sum), 0)
    await harness.record(
      instants.map((at, n) =>
        harness.usage(simId, {
          at: new Date(at).toISOString(),
          bytesUp: 2 ** n,
          bytesDown: n,
          smsCount: n,
          sessions: 2 * n,
        }),
      ),
    )
    await harness.record([
      harness.usage(simId, { at: new Date(start(DAY)).toISOString(), bytesUp: -3, correction: true }),
    ])

    const [ofSim, ofPool] = await harness.asTenant(async (tx) => {
      const { short, long, hour, day, week, average, today } = windows
      const at = {
        short: new Date(short),
        long: new Date(long),
        hour: new Date(hour),
        day: new Date(day),
        week: new Date(week),
        average: new Date(average),
        today: new Date(today),
        until: new Date(until),
      }
      const { average: since } = at
      return [
        (await simWindowSums(tx, [simId], at, since)).get(simId),
        (await poolWindowSums(tx, [poolId], at, since)).get(poolId),
      ]
    })

    const { daySessions = 0, weekBytes = 0, averageBytes = 0, averageSince, ...both } = ofSim ?? {}
    expect(both).toEqual(ofPool)
    expect([weekBytes, averageBytes]).toEqual([usedIn(windows.week) - 3, usedIn(windows.average, windows.day)])
    expect(daySessions).toBe(2 * (ofPool?.dayMessages ?? 0))
    expect(averageSince).toEqual(new Date(windows.average))
    expect(new Set([...Object.values(both), weekBytes, averageBytes]).size).toBe(8)
  })
})
