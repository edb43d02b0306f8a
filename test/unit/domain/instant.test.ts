import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { instantMs, isDay } from '../../../domain/instant.ts'
import { cases } from '../../setup/cases.ts'

describe('instantMs and isDay', () => {
  test('read back every instant that can be written', () => {
    const instant = fc.date({
      min: new Date('0001-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59.999Z'),
      noInvalidDate: true,
    })

    fc.assert(
      fc.property(instant, (date) => {
        expect(instantMs(date.toISOString())).toBe(date.getTime())
        expect(isDay(date.toISOString().slice(0, 10))).toBe(true)
      }),
    )
  })

  test('accept only days of the calendar, in any year', () => {
    const parts = fc.tuple(
      fc.integer({ min: 1, max: 9999 }),
      fc.integer({ min: 0, max: 13 }),
      fc.integer({ min: 0, max: 32 }),
    )

    fc.assert(
      fc.property(parts, ([year, month, day]) => {
        const text = `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`
        const there = new Date(0)
        there.setUTCFullYear(year, month - 1, day)
        expect(isDay(text)).toBe(there.toISOString().startsWith(text))
      }),
      { numRuns: cases(1000) },
    )
  })

  test.each([
    ['2026-11-30T12:00Z', '2026-11-30T12:00:00Z'],
    ['2026-11-30T12:00:00.5+01:00', '2026-11-30T11:00:00.500Z'],
    ['2026-11-30t12:00:00z', '2026-11-30T12:00:00Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00Z'],
  ])('read %s as an instant', (text, as) => {
    expect(instantMs(text)).toBe(Date.parse(as))
  })

  test.each([
    '2026-11-31T00:00:00Z',
    '2026-02-29T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2026-11-30T24:00:00Z',
    '2016-12-31T23:59:60Z',
    '0000-01-01T00:00:00Z',
    '0001-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
    '2026-11-30T12:00:00',
    '2026-11-30',
    '+012026-11-30T12:00:00Z',
    '',
  ])('read no instant from %j', (text) => {
    expect(instantMs(text)).toBeUndefined()
  })
})
