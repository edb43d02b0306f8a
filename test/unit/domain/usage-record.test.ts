import { expect, test } from 'vitest'
import { readRecord } from '../../../domain/usage/usage-record.ts'

const NOW = Date.UTC(2026, 10, 20, 12)
const read = (over: object) =>
  readRecord({ recordId: 'r1', iccid: '8944500102198304826', at: '2026-11-20T11:00:00Z', bytesUp: 1, ...over }, NOW)

test.each(['8944500102198304826', '8944500102198304826F', '8944500102198304826ff'])(
  'reads the ICCID of %s',
  (iccid) => {
    expect(read({ iccid })).toMatchObject({ record: { iccid: '8944500102198304826' } })
  },
)

test.each(['F', '8944500102198304826E', '89445001F'])('refuses the ICCID %s', (iccid) => {
  expect(read({ iccid })).toMatchObject({ fault: { code: 'invalid_record' } })
})

test.each([
  ['1899-12-30T00:00:00Z', 'usage_too_old'],
  ['1900-01-00T00:00:00Z', 'invalid_record'],
])('says of the time %s that a spreadsheet makes it of nothing', (at, code) => {
  const detail = expect.stringContaining('day 0 of a spreadsheet')

  expect(read({ at })).toMatchObject({ fault: { code, detail } })
})

test.each([
  ['country', 'DEU', 'Two capital letters'],
  ['country', 'de', 'Two capital letters'],
  ['mccMnc', '262-01', '5 or 6 digits'],
  ['rat', 'a'.repeat(21), 'At most 20 characters'],
])('refuses the %s %s, and says what is expected', (field, value, expected) => {
  const detail = expect.stringMatching(new RegExp(`^${field}: got "${value}", expected ${expected}`))

  expect(read({ [field]: value })).toMatchObject({ fault: { code: 'invalid_record', detail } })
})

test('reads empty fields of a place as unknown', () => {
  const nothing = { country: null, mccMnc: null, rat: null }

  expect([read({}), read({ country: '', mccMnc: '', rat: '' })]).toMatchObject([
    { record: nothing },
    { record: nothing },
  ])
})
