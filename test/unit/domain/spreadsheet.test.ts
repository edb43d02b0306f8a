import { parse } from 'csv-parse/sync'
import { stringify } from 'csv-stringify/sync'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  asTextCell,
  CSV_FORMAT,
  digitsOf,
  isRounded,
  looksRounded,
  meantBy,
  neutralised,
} from '../../../domain/files/spreadsheet.ts'

const SIGNS = ['=', '+', '-', '@', '\uFF1D', '\uFF0B', '\uFF0D', '\uFF20']
const NUMBER = /^[+-]?\d+(\.\d+)?$/
/** Text of the characters that matter here, and of any others. */
const text = fc.oneof(
  fc.string({
    unit: fc.constantFrom(...SIGNS, "'", '"', ' ', '\t', '\r', '\n', ';', ',', '.', '1', 'a', '\u200B', '“'),
  }),
  fc.string({ unit: 'grapheme' }),
)

/** All texts of up to `most` of these letters. */
const textsOf = (letters: readonly string[], most: number): string[] =>
  most === 0 ? [''] : ['', ...textsOf(letters, most - 1).flatMap((rest) => letters.map((letter) => letter + rest))]

describe('neutralised', () => {
  test.each([
    ['=1+1', "'=1+1"],
    ['+cmd', "'+cmd"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['-2+3', "'-2+3"],
    ['  =1', "'  =1"],
    ['"=1', `'"=1`],
    ['\t1', "'\t1"],
    ['\r=1', "'\r'=1"],
    ['\u200B=1', "'\u200B=1"],
    ['＝1', "'＝1"],
    ["'=1", "''=1"],
    ['pump;=1', "pump;'=1"],
    ['+49 170 1', "'+49 170 1"],
    ['-5', '-5'],
    ['-5.25', '-5.25'],
    ['+491701234567', '+491701234567'],
    ['-', "'-"],
    ['a=b', 'a=b'],
    ["it's", "it's"],
    ["'quoted'", "'quoted'"],
    ['', ''],
  ])('turns %j into %j', (cell, expected) => {
    expect(neutralised(cell)).toBe(expected)
  })

  test('leaves no part that begins like a formula', () => {
    fc.assert(
      fc.property(text, (cell) => {
        for (const part of neutralised(cell).split(/[;\t\r\n]/)) {
          const first = part.replace(/^[\p{Z}\p{C}"\p{Pi}\p{Pf}]+/u, '')
          expect(NUMBER.test(part) || !SIGNS.includes(first[0] ?? '')).toBe(true)
        }
        expect(['\t', '\r', '\n']).not.toContain(neutralised(cell)[0])
      }),
    )
  })

  test('keeps different texts different', () => {
    const texts = new Set(textsOf(['=', "'", ';', '1', 'a', '\t'], 6))

    expect(new Set([...texts].map(neutralised)).size).toBe(texts.size)
  })

  test('adds nothing but apostrophes', () => {
    fc.assert(
      fc.property(text, (cell) => {
        expect(neutralised(cell).replaceAll("'", '')).toBe(cell.replaceAll("'", ''))
      }),
    )
  })

  test('comes back unchanged from a CSV file', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(text, text), { minLength: 1 }), (rows) => {
        const cells = rows.map((row) => row.map(neutralised))
        const csv = stringify(cells, { ...CSV_FORMAT, quoted_empty: true })
        expect(parse(csv, { record_delimiter: ['\r\n', '\n', '\r'] })).toEqual(cells)
      }),
    )
  })
})

describe('meantBy', () => {
  test.each([
    ["'=1+1", '=1+1'],
    ["''=1+1", "'=1+1"],
    ["pump;'=1", 'pump;=1'],
    ["'+49 170 1", '+49 170 1'],
    ["'\tx", '\tx'],
    ["'-5", "'-5"],
    ["'+491701234567", "'+491701234567"],
    ["a;'-5;'=1", "a;'-5;=1"],
    ["'quoted'", "'quoted'"],
    ["'89445001", "'89445001"],
    ["it's=1", "it's=1"],
    ['=1+1', '=1+1'],
    ['', ''],
  ])('reads %j as %j', (cell, expected) => {
    expect(meantBy(cell)).toBe(expected)
  })

  test('takes off what neutralised adds, of any text', () => {
    const comesBack = (cell: string) => {
      expect(meantBy(neutralised(cell))).toBe(cell)
    }
    fc.assert(fc.property(text, comesBack))
    for (const cell of textsOf(['=', "'", ';', '1', 'a', '\t'], 6)) comesBack(cell)
    for (const cell of textsOf(['-', "'", ';', '1', '.', '\t'], 6)) comesBack(cell)
  })

  test('takes off nothing that neutralised would not add again', () => {
    for (const cell of textsOf(['-', "'", ';', '1', 'a', '\t'], 6)) {
      const read = meantBy(cell)
      expect(neutralised(read).length, cell).toBeGreaterThanOrEqual(cell.length)
      if (neutralised(cell) === cell) expect(read).toBe(cell)
    }
  })

  test('reads a cell of a million quiet characters at once', () => {
    const quiet = "\t'".repeat(500_000)

    expect(meantBy(`x${quiet}`)).toBe(`x${quiet}`)
    expect(meantBy(`x${quiet}=`)).toBe(`x${'\t'.repeat(500_000)}=`)
  })
})

describe('asTextCell and digitsOf', () => {
  test('return the digits of a cell unchanged', () => {
    expect(digitsOf(asTextCell('8944500102198304826'))).toBe('8944500102198304826')
    expect(asTextCell('')).toBe('')
  })

  test.each([
    ['8944 5001 0219 8304 826', '8944500102198304826'],
    ['8944\u00A05001', '89445001'],
    ["'89445001", '89445001'],
    ['+49 170', '+49170'],
    ['8.94E+18', '8.94E+18'],
    ['8944-5001-0219-8304-826', '8944500102198304826'],
    ['="8944500102198304826F"', '8944500102198304826'],
    ["'894450010219830482FF", '894450010219830482'],
    ['35-209900-176148-1', '352099001761481'],
    ['8944500102198304818-8944500102198304826', '8944500102198304818-8944500102198304826'],
    ['1-2', '1-2'],
    ['1.2', '1.2'],
    ['12F', '12F'],
  ])('read %j as %j', (cell, digits) => {
    expect(digitsOf(cell)).toBe(digits)
  })
})

test.each([
  ['8.94E+18', true],
  ['8,94E+18', true],
  ['9e18', true],
  ['2.62016E+14', true],
  ['8944500102198304826', false],
  ['E18', false],
  ['8.94', false],
])('isRounded finds %j rounded: %j', (cell, expected) => {
  expect(isRounded(cell)).toBe(expected)
})

test('looksRounded finds zeros from the 16th digit on', () => {
  expect(looksRounded('8944500102198300000')).toBe(true)
  expect(looksRounded('8944500102198304826')).toBe(false)
})
