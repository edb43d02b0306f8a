import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  bucketMs,
  cycleAt,
  cycleOfKey,
  daysUntilRenewal,
  nextCycle,
  parseBillingCycle,
  previousCycle,
} from '../../../domain/time/cycle.ts'

const instant = fc.integer({ min: 0, max: Date.UTC(2100, 0, 1) })
const billingCycle = fc.constantFrom('P1M', 'P7D', 'P1D', 'PT6H', 'PT5M', 'PT1M')

describe('cycleAt', () => {
  test('puts every instant into one cycle, without gaps', () => {
    fc.assert(
      fc.property(billingCycle, instant, (length, at) => {
        const cycle = cycleAt(length, at)
        expect(cycle.startsAt).toBeLessThanOrEqual(at)
        expect(at).toBeLessThan(cycle.endsAt)
        expect(nextCycle(length, cycle).startsAt).toBe(cycle.endsAt)
        expect(previousCycle(length, nextCycle(length, cycle))).toEqual(cycle)
      }),
    )
  })

  test('gives keys that sort by time and read back', () => {
    fc.assert(
      fc.property(billingCycle, instant, (length, at) => {
        const cycle = cycleAt(length, at)
        expect(cycleOfKey(length, cycle.key)).toEqual(cycle)
        expect(cycle.key < nextCycle(length, cycle).key).toBe(true)
      }),
    )
  })

  test.each([
    ['P1M', '2026-11-30T23:59:59.999Z', '2026-11', '2026-12-01T00:00:00.000Z'],
    ['P1M', '2028-02-29T12:00:00Z', '2028-02', '2028-03-01T00:00:00.000Z'],
    ['P1M', '2026-12-01T00:00:00Z', '2026-12', '2027-01-01T00:00:00.000Z'],
    ['PT5M', '2026-11-21T02:12:00Z', '20261121T0210Z', '2026-11-21T02:15:00.000Z'],
  ])('%s at %s is %s until %s', (length, at, key, endsAt) => {
    const cycle = cycleAt(length, Date.parse(at))

    expect([cycle.key, new Date(cycle.endsAt).toISOString()]).toEqual([key, endsAt])
  })
})

test.each(['2026-13', '2026-1', '20261121T0212Z', '20261121', ''])('cycleOfKey finds no cycle for %j', (key) => {
  expect(cycleOfKey(key.includes('T') ? 'PT5M' : 'P1M', key)).toBeUndefined()
})

test.each([
  ['P1M', 'month'],
  ['P7D', 604_800_000],
  ['PT5M', 300_000],
  ['PT0M', undefined],
  ['P2M', undefined],
  ['PT30S', undefined],
  ['', undefined],
])('parseBillingCycle(%j) is %s', (text, length) => {
  expect(parseBillingCycle(text)).toBe(length)
})

test('daysUntilRenewal rounds up to whole days', () => {
  const cycle = cycleAt('P1M', Date.parse('2026-11-10T00:00:00Z'))

  expect(daysUntilRenewal(cycle, Date.parse('2026-11-29T23:00:00Z'))).toBe(2)
  expect(daysUntilRenewal(cycle, Date.parse('2026-11-30T23:59:59Z'))).toBe(1)
})

test('bucketMs is five minutes, or 1/60 of short cycles', () => {
  expect([bucketMs('P1M'), bucketMs('PT6H'), bucketMs('PT5M')]).toEqual([300_000, 360_000, 5000])
})
