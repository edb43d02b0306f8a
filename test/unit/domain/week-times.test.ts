import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { heldUntil, inWords } from '../../../domain/alerts/week-times.ts'

const NIGHTS = [{ from: '22:00', to: '06:00', days: [1, 2, 3, 4, 5] }]
const WEEKEND = [{ from: '00:00', to: '00:00', days: [6, 7] }]

describe('heldUntil', () => {
  test.each([
    ['a night, before midnight', NIGHTS, '2026-11-23T22:00:00Z', 'UTC', '2026-11-24T06:00:00.000Z'],
    ['a night, after midnight', NIGHTS, '2026-11-24T05:59:00Z', 'UTC', '2026-11-24T06:00:00.000Z'],
    ['the night of a Friday, on Saturday', NIGHTS, '2026-11-28T01:00:00Z', 'UTC', '2026-11-28T06:00:00.000Z'],
    ['a day', NIGHTS, '2026-11-24T06:00:00Z', 'UTC', null],
    ['the night of a Saturday', NIGHTS, '2026-11-28T23:00:00Z', 'UTC', null],
    ['a night in another zone', NIGHTS, '2026-11-23T21:00:00Z', 'Europe/Berlin', '2026-11-24T05:00:00.000Z'],
    ['days that follow each other', WEEKEND, '2026-11-28T12:00:00Z', 'UTC', '2026-11-30T00:00:00.000Z'],
    ['times that overlap', [...NIGHTS, ...WEEKEND], '2026-11-27T23:00:00Z', 'UTC', '2026-11-30T00:00:00.000Z'],
    [
      'always, for more than a week',
      [{ from: '00:00', to: '00:00' }],
      '2026-11-23T12:00:00Z',
      'UTC',
      '2026-12-01T00:00:00.000Z',
    ],
    [
      'an hour less, when the clocks change',
      NIGHTS,
      '2026-10-24T01:00:00Z',
      'Europe/Berlin',
      '2026-10-24T04:00:00.000Z',
    ],
  ] as const)('in %s', (_, times, at, timeZone, until) => {
    const held = heldUntil(
      times.map((one) => ({ ...one })),
      timeZone,
      Date.parse(at),
    )
    expect(held === null ? null : new Date(held).toISOString()).toBe(until)
  })

  test('is held at each minute of the times, and at no other', () => {
    const clock = fc.integer({ min: 0, max: 24 * 60 - 1 })
    const days = fc.option(fc.uniqueArray(fc.integer({ min: 1, max: 7 }), { minLength: 1 }), { nil: undefined })
    const minute = fc.integer({ min: 0, max: 7 * 24 * 60 - 1 })
    fc.assert(
      fc.property(clock, clock, days, minute, (from, to, on, at) => {
        // The week begins on a Monday.
        const [day, time] = [Math.floor(at / 1440) + 1, at % 1440]
        const isOn = (n: number) => on === undefined || on.includes(n === 0 ? 7 : n)
        const isHeld =
          from < to
            ? isOn(day) && time >= from && time < to
            : (isOn(day) && time >= from) || (isOn(day - 1) && time < to)
        const written = { from: clockOf(from), to: clockOf(to), ...(on !== undefined && { days: on }) }

        const until = heldUntil([written], 'UTC', Date.UTC(2026, 10, 23) + at * 60_000)

        expect(until !== null).toBe(isHeld)
      }),
    )
  })
})

const clockOf = (minutes: number) => new Date(minutes * 60_000).toISOString().slice(11, 16)

test('times in words', () => {
  expect(inWords([...NIGHTS, { from: '12:00', to: '13:00' }])).toBe(
    '22:00–06:00 on Mon, Tue, Wed, Thu, Fri; 12:00–13:00',
  )
})
