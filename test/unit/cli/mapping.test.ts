import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { billingCycleAt, chooseCycle, deliveryTimes, mapDays, mapInstant, mapMonth } from '../../../cli/demo/mapping.ts'
import { dueUpTo } from '../../../cli/demo/replay.ts'
import { cycleAt } from '../../../domain/time/cycle.ts'

const DAY_MS = 86_400_000
const at = (time: string) => Date.parse(`2026-11-21T${time}Z`)
const OCTOBER = { from: Date.parse('2026-10-01T00:00:00Z'), to: Date.parse('2026-11-01T00:00:00Z') }

describe('billingCycleAt', () => {
  test('has passed by 65 to 95 % on every day of ten years', () => {
    for (let now = at('09:00:00'); now < at('09:00:00') + 3650 * DAY_MS; now += DAY_MS) {
      const { startsAt, endsAt } = cycleAt(billingCycleAt(now), now)
      const passed = (now - startsAt) / (endsAt - startsAt)

      expect(passed, new Date(now).toISOString()).toBeGreaterThan(0.65)
      expect(passed, new Date(now).toISOString()).toBeLessThan(0.95)
    }
  })
})

describe('chooseCycle', () => {
  test.each([
    ['current cycle with 75 seconds left', '09:02:45', '20261121T0902Z', 0],
    ['current cycle right after its start', '09:02:00', '20261121T0902Z', 0],
    ['next cycle with less left', '09:02:45.001', '20261121T0904Z', 74_999],
    ['next cycle a moment before the end', '09:03:59', '20261121T0904Z', 1000],
  ])('plays in the %s', (_, time, key, waitMs) => {
    const choice = chooseCycle('PT2M', at(time))

    expect(choice.cycle.key).toBe(key)
    expect(choice.waitMs).toBe(waitMs)
  })
})

describe('mapMonth', () => {
  const { cycle } = chooseCycle('PT2M', at('09:02:10'))
  const mapping = mapMonth(cycle, at('09:02:10'), OCTOBER)

  test('maps from now to 20 s before the end of the cycle', () => {
    expect(mapInstant(mapping, OCTOBER.from)).toBe(at('09:02:10'))
    expect(mapInstant(mapping, OCTOBER.to)).toBe(at('09:03:40'))
  })

  test('maps linearly between the two ends', () => {
    expect(mapInstant(mapping, Date.parse('2026-10-16T12:00:00Z'))).toBe(at('09:02:55'))
  })

  test('keeps instants in order and within both ends', () => {
    const instant = fc.integer({ min: OCTOBER.from, max: OCTOBER.to })
    fc.assert(
      fc.property(instant, instant, (a, b) => {
        const [first, second] = [mapInstant(mapping, Math.min(a, b)), mapInstant(mapping, Math.max(a, b))]
        expect(first).toBeLessThanOrEqual(second)
        expect(first).toBeGreaterThanOrEqual(mapping.onto.from)
        expect(second).toBeLessThanOrEqual(mapping.onto.to)
      }),
    )
  })

  test('delivers each record at its instant, a late one with its neighbours', () => {
    const instants = [1, 10, 2, 11].map((n) => mapInstant(mapping, OCTOBER.from + n * DAY_MS))
    const [first = 0, second = 0, , last = 0] = instants

    expect(deliveryTimes(mapping, instants)).toEqual([first, second, second, last])
  })
})

test('mapDays leaves instants as they are, and delivers those up to now within half a minute', () => {
  const now = at('09:00:00')
  const cycle = cycleAt('P26D', now)
  const mapping = mapDays(cycle, now)
  const middle = (cycle.startsAt + now) / 2

  expect(mapInstant(mapping, middle)).toBe(middle)
  expect(deliveryTimes(mapping, [cycle.startsAt, middle, now])).toEqual([now, now + 15_000, now + 30_000])
})

test('dueUpTo takes due records, up to the limit', () => {
  const times = [10, 20, 30, 40, 50]

  expect(dueUpTo(times, 0, 5, 10)).toBe(0)
  expect(dueUpTo(times, 0, 30, 10)).toBe(3)
  expect(dueUpTo(times, 0, 99, 2)).toBe(2)
  expect(dueUpTo(times, 4, 99, 10)).toBe(5)
  expect(dueUpTo(times, 5, 99, 10)).toBe(5)
})
