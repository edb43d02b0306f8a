import { expect, test } from 'vitest'
import { TariffType } from '../../../domain/codes.ts'
import { fromMoney } from '../../../domain/units.ts'
import { costOfCycle } from '../../../service/month-end/cost-of-cycle.ts'
import { planMonthEnd } from '../../../service/month-end/plan-month-end.ts'
import { aStore } from '../../setup/estate.ts'
import { everythingIn } from '../everything.ts'
import type { Harness } from '../harness.ts'
import { at, CLOSE, CYCLE, charge, close, inOctober, NEXT, statement, total } from './october.ts'

const store = await aStore(undefined, { counted: false })
const cost = (harness: Harness, key = CYCLE) => harness.asTenant((tx) => costOfCycle(tx, key))
const GB = 1_000_000_000
const overage = (gb: number) => fromMoney(5 * gb)

/** A shared pool and an unshared one, with an allowance of 1 GB a SIM, and usage on the tenth of 31 days. */
async function inUse() {
  const harness = await inOctober(store)
  const shared = await harness.aPool(TariffType['Dynamic Pool'], GB)
  const unshared = await harness.aPool(TariffType.Standard, GB)
  const [a = 0] = await harness.activeSims(2, { poolId: shared })
  const [over = 0, within = 0] = await harness.activeSims(2, { poolId: unshared })
  store.now = at(10)
  await harness.record([
    harness.usage(a, { bytesUp: 1.5 * GB, smsCount: 10, voiceSeconds: 600 }),
    harness.usage(over, { bytesUp: 1.5 * GB }),
    harness.usage(within, { bytesUp: 0.62 * GB }),
  ])
  return { harness, shared, unshared, a }
}

test('costOfCycle adds up charges so far, and forecasts by what is known of the cycle', async () => {
  const { harness, shared, unshared } = await inUse()
  const fees = { feeMicro: 4 * fromMoney(1), adjustmentsMicro: 0 }
  // Of 2 GB in the shared pool 4.65 are used by the end; in the other one SIM uses 4.65, the other 1.922 of 1 GB each.
  const [sharedAtEnd, unsharedAtEnd] = [overage(2.65), overage(3.65 + 0.922)]

  const found = await cost(harness)

  expect(found).toMatchObject({
    cycle: CYCLE,
    closedAt: null,
    currency: 'EUR',
    asOf: new Date(at(10)).toISOString(),
    knownTo: new Date(at(10)).toISOString(),
    usageBytes: 3.62 * GB,
    overageBytes: 0.5 * GB,
    soFar: {
      ...fees,
      overageMicro: overage(0.5),
      voiceMicro: fromMoney(1),
      smsMicro: fromMoney(0.5),
      totalMicro: fees.feeMicro + overage(0.5) + fromMoney(1.5),
    },
    forecast: {
      ...fees,
      overageMicro: sharedAtEnd + unsharedAtEnd,
      voiceMicro: fromMoney(3.1),
      smsMicro: fromMoney(1.55),
      totalMicro: fees.feeMicro + sharedAtEnd + unsharedAtEnd + fromMoney(4.65),
    },
  })
  expect(found.pools).toMatchObject({
    count: 2,
    first: [
      { poolId: shared, overageMicro: 0, totalMicro: fromMoney(3.5) },
      { poolId: unshared, overageMicro: overage(0.5), totalMicro: fromMoney(2) + overage(0.5) },
    ],
  })
  expect(found.pools.first.map(({ forecastMicro }) => forecastMicro)).toEqual([
    fromMoney(2 + 4.65) + sharedAtEnd,
    fromMoney(2) + unsharedAtEnd,
  ])
})

test('costOfCycle forecasts nothing in the first tenth, and from the newest usage later', async () => {
  const { harness, a } = await inUse()
  const then = await cost(harness)
  store.now = at(13)
  const later = await cost(harness)
  store.now = at(31) + 2 * 86_400_000
  await harness.record([harness.usage(a, { bytesUp: 5 })])
  const next = await cost(harness, NEXT)

  expect(later.knownTo).toBe(new Date(at(10)).toISOString())
  expect(later.forecast).toEqual(then.forecast)
  expect(next).toMatchObject({ forecast: null, pools: { first: [{ forecastMicro: null }, { forecastMicro: null }] } })
})

test('costOfCycle of an ended cycle is its statement, before and after the close, and as planned', async () => {
  const { harness, a } = await inUse()
  await harness.record([harness.usage(a, { bytesUp: 1_234_567_891, voiceSeconds: 7, smsCount: 3 })])
  store.now = CLOSE
  const before = await cost(harness)
  const { totals, pools } = await harness.asTenant((tx) => planMonthEnd(tx, CYCLE))
  await close(harness)
  const after = await cost(harness)
  const lines = await statement(harness)

  expect(after).toEqual({ ...before, closedAt: new Date(CLOSE).toISOString() })
  expect(after.forecast).toEqual(after.soFar)
  expect(after.soFar.totalMicro).toBe(total(lines, charge))
  expect(after.lines).toBe(lines.length)
  expect(totals).toMatchObject(before.soFar)
  expect(before.pools.first.map(({ totalMicro }) => totalMicro)).toEqual(
    pools.first.map(({ totalMicro }) => totalMicro),
  )
})

test('costOfCycle changes nothing, also of a cycle that is not open yet', async () => {
  const { harness } = await inUse()
  store.now = at(40)
  const before = await everythingIn(store.databaseUrl)
  const { soFar, closedAt } = await cost(harness, NEXT)

  expect({ fee: soFar.feeMicro, closedAt }).toEqual({ fee: 4 * fromMoney(1), closedAt: null })
  expect(await everythingIn(store.databaseUrl)).toEqual(before)
})
