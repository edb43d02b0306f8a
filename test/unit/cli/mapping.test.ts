import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { chooseCycle, deliveryTimes, mapInstant, mapOnto } from '../../../cli/demo/mapping.ts'
import { dueUpTo } from '../../../cli/demo/replay.ts'

const at = (time: string) => Date.parse(`2026-11-21T${time}Z`)
const OCTOBER = { from: Date.parse('2026-10-01T00:00:00Z'), to: Date.parse('2026-11-01T00:00:00Z') }

describe('chooseCycle', () => {
  test.each([
    ['current cycle with two minutes left', '09:03:00', '20261121T0900Z', 0],
    ['current cycle right after its start', '09:00:00', '20261121T0900Z', 0],
    ['next cycle with less than two minutes left', '09:03:00.001', '20261121T0905Z', 119_999],
    ['next cycle a moment before the end', '09:04:59', '20261121T0905Z', 1000],
  ])('plays in the %s', (_, time, key, waitMs) => {
    const choice = chooseCycle('PT5M', at(time))

    expect(choice.cycle.key).toBe(key)
    expect(choice.waitMs).toBe(waitMs)
  })
})

describe('mapOnto', () => {
  const { cycle } = chooseCycle('PT5M', at('09:01:00'))
  const mapping = mapOnto(cycle, at('09:01:00'), OCTOBER)

  test('maps from last activation to 30 s before cycle end', () => {
    expect(mapInstant(mapping, OCTOBER.from)).toBe(at('09:01:00'))
    expect(mapInstant(mapping, OCTOBER.to)).toBe(at('09:04:30'))
  })

  test('maps linearly between the two ends', () => {
    expect(mapInstant(mapping, Date.parse('2026-10-16T12:00:00Z'))).toBe(at('09:02:45'))
  })

  test('begins with the cycle if it has not started', () => {
    const next = chooseCycle('PT5M', at('09:04:00')).cycle

    expect(mapOnto(next, at('09:04:00'), OCTOBER).onto).toEqual({ from: at('09:05:00'), to: at('09:09:30') })
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
})

describe('deliveryTimes and dueUpTo', () => {
  const { cycle } = chooseCycle('PT5M', at('09:01:00'))
  const mapping = mapOnto(cycle, at('09:01:00'), OCTOBER)
  const day = (n: number) => OCTOBER.from + n * 86_400_000

  test('deliver a late record with its neighbours in the file', () => {
    const times = deliveryTimes(mapping, [day(1), day(10), day(2), day(11)])

    expect(times[2]).toBe(times[1])
    expect(times).toEqual(times.toSorted((a, b) => a - b))
  })

  test('take due records, up to the limit', () => {
    const times = [10, 20, 30, 40, 50]

    expect(dueUpTo(times, 0, 5, 10)).toBe(0)
    expect(dueUpTo(times, 0, 30, 10)).toBe(3)
    expect(dueUpTo(times, 0, 99, 2)).toBe(2)
    expect(dueUpTo(times, 4, 99, 10)).toBe(5)
    expect(dueUpTo(times, 5, 99, 10)).toBe(5)
  })
})
