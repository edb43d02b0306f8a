import { expect, test } from 'vitest'
import { printable } from '../../../cli/print.ts'
import { table } from '../../../cli/table.ts'

const TAG = 'meter\u001b[2J\u009b1;31m\r\u202e17\nsecond line'

test('what a terminal would obey is shown instead', () => {
  expect(printable(TAG)).toBe('meter\\u001b[2J\\u009b1;31m\\u000d\\u202e17\nsecond line')
  expect(printable('Zähler\t№ 7 🐑')).toBe('Zähler\t№ 7 🐑')
})

test('a cell of a table stays on its line', () => {
  const lines = table(['tag'], [[TAG]])

  expect(lines).toHaveLength(3)
  expect(lines[2]).toBe('meter\\u001b[2J\\u009b1;31m\\u000d\\u202e17\\nsecond line')
})
