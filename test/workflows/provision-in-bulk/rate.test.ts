import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { openRate } from '../../../workflows/run/rate.ts'

describe('openRate', () => {
  beforeEach(() => vi.useFakeTimers({ now: Date.UTC(2026, 10, 21) }))
  afterEach(() => vi.useRealTimers())
  const later = (ms: number) => vi.setSystemTime(Date.now() + ms)

  test('knows no rate before something has ended', () => {
    const pace = openRate()
    pace.mark(0)

    expect([pace.perSecond(), pace.endOf(10)]).toEqual([0, null])
  })

  test('gives the rate and estimates the end', () => {
    const pace = openRate()
    pace.mark(0)
    later(4000)
    pace.mark(10)

    expect(pace.perSecond()).toBe(2.5)
    expect(pace.endOf(25)).toBe(new Date(Date.now() + 10_000).toISOString())
    expect(pace.endOf(0)).toBeNull()
  })

  test('counts recent progress only, across continued runs', () => {
    const before = openRate()
    before.mark(0)
    later(3_600_000)
    for (let ended = 0; ended <= 40; ended += 2) {
      before.mark(ended)
      later(1000)
    }

    expect(openRate(before.read()).perSecond()).toBe(2)
  })
})
