import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { instantMs } from '../../../domain/instant.ts'
import { instant, localDay, localInstant, shortInstant } from '../../../domain/local-time.ts'

describe('instant', () => {
  test.each([
    ['2026-11-21T08:40:59.999Z', undefined, '2026-11-21 08:40 UTC'],
    ['2026-11-21T08:40:00Z', 'UTC', '2026-11-21 08:40 UTC'],
    ['2026-11-21T08:40:00Z', 'Africa/Abidjan', '2026-11-21 08:40 UTC'],
    ['2026-11-21T08:40:00Z', 'Europe/Berlin', '2026-11-21 09:40 +01:00 (08:40 UTC)'],
    ['2026-07-21T08:40:00Z', 'Europe/Berlin', '2026-07-21 10:40 +02:00 (08:40 UTC)'],
    ['2026-11-21T23:30:00Z', 'Asia/Kolkata', '2026-11-22 05:00 +05:30 (2026-11-21 23:30 UTC)'],
    ['2026-12-01T00:00:00Z', 'America/New_York', '2026-11-30 19:00 -05:00 (2026-12-01 00:00 UTC)'],
    ['2026-11-21T08:40:00Z', 'Nowhere/Land', '2026-11-21 08:40 UTC'],
    ['2026-11-21T09:40:00+01:00', 'UTC', '2026-11-21 08:40 UTC'],
    ['soon', 'UTC', 'soon'],
  ])('writes %s in %s as %s', (iso, timeZone, text) => {
    expect(instant(iso, timeZone)).toBe(text)
  })

  test('tells both sides of a change of the clocks apart', () => {
    expect(instant('2026-10-25T00:30Z', 'Europe/Berlin')).toBe('2026-10-25 02:30 +02:00 (00:30 UTC)')
    expect(instant('2026-10-25T01:30Z', 'Europe/Berlin')).toBe('2026-10-25 02:30 +01:00 (01:30 UTC)')
  })

  test('is the same minute in every zone', () => {
    const zones = fc.constantFrom(...Intl.supportedValuesOf('timeZone'))
    // From 1980 on, offsets are of whole minutes.
    const at = fc.integer({ min: Date.UTC(1980, 0), max: Date.UTC(2100, 0) })
    fc.assert(
      fc.property(at, zones, (ms, timeZone) => {
        const [day, time, offset] = shortInstant(ms, timeZone).split(' ')

        expect(instantMs(`${day}T${time}${offset === 'UTC' ? 'Z' : offset}`)).toBe(ms - (ms % 60_000))
      }),
    )
  })
})

describe('localDay', () => {
  test.each([
    ['2026-11-21T08:40:00Z', 'UTC', '2026-11-21T00:00:00.000Z', 8, 6],
    ['2026-11-21T23:30:00Z', 'Europe/Berlin', '2026-11-21T23:00:00.000Z', 0, 7],
    ['2026-11-23T03:00:00Z', 'America/New_York', '2026-11-22T05:00:00.000Z', 22, 7],
    ['2026-11-21T23:30:00Z', 'Nowhere/Land', '2026-11-21T00:00:00.000Z', 23, 6],
    // The clocks change at 2:00 and 3:00; forward at midnight; back at 1:00, so that midnight comes twice.
    ['2026-03-29T12:00:00Z', 'Europe/Berlin', '2026-03-28T23:00:00.000Z', 14, 7],
    ['2026-10-25T12:00:00Z', 'Europe/Berlin', '2026-10-24T22:00:00.000Z', 13, 7],
    ['2026-04-24T12:00:00Z', 'Africa/Cairo', '2026-04-23T22:00:00.000Z', 15, 5],
    ['2026-11-01T12:00:00Z', 'America/Havana', '2026-11-01T04:00:00.000Z', 7, 7],
  ])('of %s in %s', (at, timeZone, startsAt, hour, weekday) => {
    expect(localDay(Date.parse(at), timeZone)).toMatchObject({ startsAt: Date.parse(startsAt), hour, weekday })
  })
})

test.each([
  ['2026-11-21', '22:00', 'Europe/Berlin', '2026-11-21T21:00:00.000Z'],
  ['2026-11-21', '22:00', 'America/New_York', '2026-11-22T03:00:00.000Z'],
  ['2026-11-21', '22:00', 'Nowhere/Land', '2026-11-21T22:00:00.000Z'],
  // On the last one the clocks go from 2:00 to 3:00.
  ['2026-03-29', '00:30', 'Europe/Berlin', '2026-03-28T23:30:00.000Z'],
  ['2026-03-29', '03:30', 'Europe/Berlin', '2026-03-29T01:30:00.000Z'],
  ['2026-03-29', '02:30', 'Europe/Berlin', '2026-03-29T01:30:00.000Z'],
])('localInstant of %s %s in %s', (day, time, timeZone, at) => {
  expect(new Date(localInstant(day, time, timeZone)).toISOString()).toBe(at)
})
