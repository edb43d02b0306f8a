import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  checkDigit,
  digitsIn,
  ICCID,
  IMEI,
  IMSI,
  iccidOf,
  imeiOf,
  luhnOk,
  MSISDN,
  otherIccidsOf,
  withoutFiller,
} from '../../../domain/identifiers.ts'

const digits = (min: number, max = min) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength: min, maxLength: max }).map((all) => all.join(''))

describe('check digits', () => {
  test.each([
    ['8944500102198304826', 'ICCID'],
    ['490154203237518', 'IMEI of the standard’s example'],
    ['79927398713', 'the usual Luhn example'],
    ['00', 'the shortest'],
  ])('are right in %s (%s)', (number) => {
    expect(luhnOk(number)).toBe(true)
    expect(checkDigit(number.slice(0, -1))).toBe(number.at(-1))
  })

  test.each(['', '0', '490154203237517', '49015420323751x', ' 490154203237518', '-18'])('are wrong in %j', (text) => {
    expect(luhnOk(text)).toBe(false)
  })

  test('are the only digits that luhnOk accepts', () => {
    fc.assert(
      fc.property(digits(1, 24), (payload) => {
        expect('0123456789'.split('').filter((last) => luhnOk(payload + last))).toEqual([checkDigit(payload)])
      }),
    )
  })

  test('reveal any single misread digit', () => {
    fc.assert(
      fc.property(digits(18), fc.nat(17), fc.integer({ min: 1, max: 9 }), (payload, place, by) => {
        const whole = payload + checkDigit(payload)
        const misread = String((Number(whole[place]) + by) % 10)

        expect(luhnOk(whole.slice(0, place) + misread + whole.slice(place + 1))).toBe(false)
      }),
    )
  })

  test('reveal swapped neighbours, except 0 and 9', () => {
    fc.assert(
      fc.property(digits(18), fc.nat(16), (payload, place) => {
        const whole = payload + checkDigit(payload)
        const pair = whole.slice(place, place + 2)
        const swapped = whole.slice(0, place) + pair.split('').toReversed().join('') + whole.slice(place + 2)

        expect(luhnOk(swapped)).toBe(pair[0] === pair[1] || pair === '09' || pair === '90')
      }),
    )
  })

  test.each(['', '12a', '1 2', '１２'])('cannot be computed for %j', (text) => {
    expect(() => checkDigit(text)).toThrow(RangeError)
  })
})

describe('an ICCID', () => {
  test.each([
    ['8944500102198304826', '8944500102198304826'],
    ['8944500102198304826F', '8944500102198304826'],
    ['894450010219830482ff', '894450010219830482'],
    ['F', ''],
    ['', ''],
  ])('is read from %j as %j', (written, iccid) => {
    expect(withoutFiller(written)).toBe(iccid)
  })

  test.each(['8944500102198304826F', '894450010219830482Ff', '89445001021983048261'])(
    'may be written %s',
    (written) => {
      expect(written).toMatch(ICCID)
    },
  )

  test.each(['F8944500102198304826', '8944500102198304826E', '89445001021983048F26', '89445001021983048F', 'F'])(
    'is not written %s',
    (written) => {
      expect(written).not.toMatch(ICCID)
    },
  )
})

describe('otherIccidsOf', () => {
  test.each([
    ['894450010219830482', ['8944500102198304826']],
    ['8944500102198304826', ['89445001021983048261', '894450010219830482']],
    ['8944500102198304827', ['89445001021983048279']],
  ])('adds and removes a check digit of %s', (iccid, others) => {
    expect(otherIccidsOf(iccid)).toEqual(others)
  })

  test('has none shorter than 18 or longer than 22 digits', () => {
    fc.assert(
      fc.property(digits(18, 22), (iccid) => {
        for (const other of otherIccidsOf(iccid)) {
          expect(other).toMatch(/^\d{18,22}$/)
          expect(otherIccidsOf(other)).toContain(iccid)
        }
      }),
    )
  })
})

describe('digitsIn', () => {
  test.each([
    ['8944 5001 0219 8304 826', '8944500102198304826'],
    ['8944-5001-0219-8304-826', '8944500102198304826'],
    ['8944.5001\u20130219.8304.826F', '8944500102198304826'],
    ['8944 5001 0219 8304 826 F', '8944500102198304826'],
    ['\u202A8944500102198304826\u202C\r\n', '8944500102198304826'],
    ['+49 170 1234567', '+491701234567'],
    ['12-34', '1234'],
    ['17', '17'],
    ['-17', undefined],
    ['17-', undefined],
    ['1--7', undefined],
    ['17F', undefined],
    ['meter 17', undefined],
    ['8.94E+18', undefined],
    ['10%', undefined],
    ['1_7', undefined],
    ['+', undefined],
    [' ', undefined],
    ['', undefined],
  ])('finds in %j the digits %j', (text, digits) => {
    expect(digitsIn(text)).toBe(digits)
  })
})

describe('identifiers', () => {
  test.each([
    ['iccidOf', iccidOf, digits(16).map((rest) => `89${rest}`), ICCID, 19],
    ['imeiOf', imeiOf, digits(14), IMEI, 15],
  ] as const)('%s adds the check digit', (_, numberOf, payloads, pattern, length) => {
    fc.assert(
      fc.property(payloads, (payload) => {
        const number = numberOf(payload)

        expect(number).toMatch(pattern)
        expect(number).toHaveLength(length)
        expect(luhnOk(number)).toBe(true)
      }),
    )
  })

  test('iccidOf and imeiOf refuse a wrong length or prefix', () => {
    expect(() => iccidOf('8'.repeat(18))).toThrow(
      "ICCID of '888888888888888888': expected 18 digits that begin with 89",
    )
    expect(() => iccidOf('89')).toThrow('got 2 characters')
    expect(() => imeiOf('490154203237518')).toThrow('expected 14 digits, got 15 characters')
  })

  test.each([
    ['ICCID', ICCID, ['8'.repeat(18), '8'.repeat(22)], ['8'.repeat(17), '8'.repeat(23)]],
    ['IMEI', IMEI, ['49015420323751', '4901542032375101'], ['4901542032375', '49015420323751010', '']],
    ['IMSI', IMSI, ['001010000000001', '001011'], ['00101', '0010100000000012', '+001010000']],
    ['MSISDN', MSISDN, ['+49151123456', '999100000000001'], ['+0491511234', '1234', '9991000000000012']],
  ])('%s accepts only its own form', (_name, pattern, right, wrong) => {
    expect(right.filter((text) => !pattern.test(text))).toEqual([])
    expect(wrong.filter((text) => pattern.test(text))).toEqual([])
  })
})
