import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  beforeLimit,
  counted,
  duration,
  megabytes,
  money,
  ofLimit,
  percent,
  plainNumber,
  price,
  quantity,
  type Unit,
} from '../../../domain/quantity.ts'
import { MB } from '../../../domain/units.ts'

const SIZES: Readonly<Record<string, number>> = { B: 1, kB: 1000, MB, GB: 1000 * MB }
const LENGTHS: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, min: 60_000, s: 1000, ms: 1 }

/** Bytes that a text says, in billionths so that it is exact. */
function bytesSaid(text: string): bigint {
  const [number = '', unit = ''] = text.replaceAll(',', '').split(' ')
  const [whole = '', fraction = ''] = number.split('.')
  return BigInt(whole + fraction.padEnd(9, '0').slice(0, 9)) * BigInt(SIZES[unit] ?? Number.NaN)
}
const msSaid = (text: string): number =>
  [...text.matchAll(/(\d+) (d|h|min|s|ms)/g)].reduce(
    (sum, [, n, unit]) => sum + Number(n) * (LENGTHS[unit ?? ''] ?? 0),
    0,
  )
const percentSaid = (text: string): number => Number(text.replace(' %', '').replaceAll(',', ''))
const digitsOf = (text: string): number =>
  text
    .replace(/[^\d.]/g, '')
    .replace(/^0\.?0*/, '')
    .replace('.', '').length

/** Bytes of up to a petabyte, often near each other. */
const bytes = fc.oneof(
  fc.integer({ min: 0, max: 1_000_000_000_000_000 }),
  fc.integer({ min: 0, max: 5_000_000_000 }),
  fc
    .tuple(fc.constantFrom(1000, MB, 100 * MB, 1000 * MB), fc.integer({ min: -2000, max: 2000 }))
    .map(([near, by]) => Math.max(0, near + by)),
)
const toMB = (n: number): number => n / MB

describe('megabytes', () => {
  test.each([
    [0, '0 MB'],
    [0.000001, '1 B'],
    [0.000999, '999 B'],
    [0.18, '180 kB'],
    [0.1234567, '123 kB'],
    [0.9999999, '999 kB'],
    [1.1, '1.1 MB'],
    [0.000004, '4 B'],
    [80, '80 MB'],
    [80.256, '80.2 MB'],
    [999.9999, '999 MB'],
    [2407.62, '2.4 GB'],
    [1_234_567.891, '1,234 GB'],
    [-67, '-67 MB'],
  ])('writes %d MB as %s', (mb, text) => {
    expect(megabytes(mb)).toBe(text)
  })

  test('cuts, and never rounds up', () => {
    fc.assert(
      fc.property(bytes, fc.array(bytes, { maxLength: 3 }), (n, others) => {
        const said = bytesSaid(megabytes(toMB(n), others.map(toMB)))

        const exact = BigInt(n) * 1_000_000_000n
        expect(said <= exact).toBe(true)
        expect((exact - said) * 100n <= exact).toBe(true)
      }),
    )
  })

  test('reads as another value only if it is that', () => {
    fc.assert(
      fc.property(bytes, bytes, (n, other) => {
        expect(megabytes(toMB(n), [toMB(other)]) === megabytes(toMB(other), [toMB(n)])).toBe(n === other)
      }),
    )
  })

  test('has three digits, and more only to tell values apart', () => {
    fc.assert(
      fc.property(bytes, bytes, (n, other) => {
        const text = megabytes(toMB(n), [toMB(other)])

        const isPlain = text === megabytes(toMB(n))
        expect(isPlain || megabytes(toMB(n)) === megabytes(toMB(other))).toBe(true)
        if (n < 1_000_000_000_000 && isPlain) expect(digitsOf(text)).toBeLessThanOrEqual(3)
      }),
    )
  })

  test('rises with its value', () => {
    fc.assert(
      fc.property(bytes, bytes, bytes, (one, two, limit) => {
        const [less, more] = one < two ? [one, two] : [two, one]
        const said = (n: number) => bytesSaid(megabytes(toMB(n), [toMB(limit)]))

        expect(said(less) <= said(more)).toBe(true)
      }),
    )
  })
})

describe('ofLimit', () => {
  test.each([
    [2407.62, 3000, '2.4 of 3 GB'],
    [340, 3000, '340 MB of 3 GB'],
    [100.18, 100, '100.18 of 100 MB'],
    [100.18, 100.2, '100.18 of 100.2 MB'],
    [100, 100, '100 of 100 MB'],
    [99.996, 100, '99.9 of 100 MB'],
    [100.000001, 100, '100.000001 of 100 MB'],
    [0, 3000, '0 of 3 GB'],
    [5, 0, '5 of 0 MB'],
    [0.000001, 100, '1 B of 100 MB'],
  ])('writes %d of %d MB as %s', (used, limit, text) => {
    expect(ofLimit(used, limit)).toBe(text)
    expect(text.startsWith(`${beforeLimit(used, limit)} of `)).toBe(true)
  })

  test('reads as used up only if it is', () => {
    fc.assert(
      fc.property(bytes, bytes, (used, limit) => {
        const [said, of = ''] = ofLimit(toMB(used), toMB(limit)).split(' of ')

        expect(said === of || `${said} ${of.split(' ')[1]}` === of).toBe(used === limit)
      }),
    )
  })
})

describe('percent', () => {
  test.each([
    [80.254, '80.2 %'],
    [99.996, '99.9 %'],
    [100, '100 %'],
    [100.0000002, '100.0000002 %'],
    [102.47, '102 %'],
    [64.1, '64.1 %'],
    [999.9999999999995, '999 %'],
    [99.99999999999999, '99.9 %'],
    [246_913.5, '246,913 %'],
    [0.000412345, '0.000412 %'],
    [0, '0 %'],
  ])('writes %d as %s', (pct, text) => {
    expect(percent(pct)).toBe(text)
  })

  test('cuts, rises, and reads as 100 % only if it is', () => {
    const pct = fc.oneof(
      fc.double({ min: 0, max: 1000, noNaN: true }),
      fc.double({ min: 99.9, max: 100.1, noNaN: true }),
    )
    fc.assert(
      fc.property(pct, pct, (one, two) => {
        const [less, more] = one < two ? [one, two] : [two, one]

        expect(percentSaid(percent(less))).toBeLessThanOrEqual(less)
        expect(percentSaid(percent(less))).toBeLessThanOrEqual(percentSaid(percent(more)))
        expect(percent(one) === '100 %').toBe(one === 100)
      }),
    )
  })
})

describe('duration', () => {
  const HOUR = 3_600_000
  test.each([
    [0, '0 s'],
    [400, '400 ms'],
    [48_000, '48 s'],
    [46_800, '46 s'],
    [90_000, '1 min 30 s'],
    [36 * HOUR, '36 h'],
    [47.999 * HOUR, '47 h 59 min'],
    [52 * HOUR, '2 d 4 h'],
    [76.9 * HOUR, '3 d 4 h'],
    [48 * HOUR + 1, '2 d'],
  ])('writes %d ms as %s', (ms, text) => {
    expect(duration(ms)).toBe(text)
  })

  test('tells apart what differs', () => {
    expect(duration(36 * HOUR + 5000, [36 * HOUR])).toBe('36 h 5 s')
    expect(duration(36 * HOUR + 5, [36 * HOUR])).toBe('36 h 5 ms')
  })

  test('cuts, rises, and reads as another only if it is that', () => {
    const ms = fc.oneof(fc.integer({ min: 0, max: 400 * 24 * HOUR }), fc.integer({ min: 0, max: 3 * HOUR }))
    fc.assert(
      fc.property(ms, ms, (one, two) => {
        const [less, more] = one < two ? [one, two] : [two, one]

        expect(msSaid(duration(less))).toBeLessThanOrEqual(less)
        expect(msSaid(duration(less))).toBeLessThanOrEqual(msSaid(duration(more)))
        expect(duration(one, [two]) === duration(two, [one])).toBe(one === two)
      }),
    )
  })
})

describe('quantity', () => {
  test.each<[number, Unit | null, string]>([
    [2407.62, 'MB', '2.4 GB'],
    [80.254, '%', '80.2 %'],
    [0.013, 'hours', '46 s'],
    [2160, 'minutes', '36 h'],
    [9, 'days', '9 d'],
    [1.9512, 'times', '1.95'],
    [1176.5, 'money', '1,176.50'],
    [0, 'money', '0.00'],
    [1234567, null, '1234567'],
    [0.12345, null, '0.123'],
  ])('writes %d in %s as %s', (value, unit, text) => {
    expect(quantity(value, unit)).toBe(text)
  })

  test('keeps numbers apart that are compared', () => {
    expect(quantity(80.004, '%', [80])).toBe('80.004 %')
    expect(quantity(1.5004, 'times', [1.5])).toBe('1.5004')
    expect(quantity(12.003, 'money', [12])).toBe('12.003')
    expect(quantity(24.0001, 'hours', [24])).toBe('24 h 360 ms')
    expect(plainNumber(7, [8])).toBe('7')
  })
})

test('money has the digits of its currency', () => {
  const said = ['EUR', 'JPY', 'KWD'].map((currency) => money(1_234_567_890, currency))
  expect(said).toEqual(['EUR 1,234.57', 'JPY 1,235', 'KWD 1,234.568'])
})

test('a price has all its digits, and at least those of its currency', () => {
  const said = [0.0025, 1.5, 1234].map((units) => price(units, 'EUR'))
  expect(said).toEqual(['EUR 0.0025', 'EUR 1.50', 'EUR 1,234.00'])
  expect([price(0.5, 'JPY'), price(7, 'JPY'), price(0.1, 'KWD')]).toEqual(['JPY 0.5', 'JPY 7', 'KWD 0.100'])
})

test('counted groups thousands', () => {
  expect([counted(1, 'SIM'), counted(1190, 'SIM'), counted(0, 'day')]).toEqual(['1 SIM', '1,190 SIMs', '0 days'])
})
