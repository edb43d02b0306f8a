import { expect, test } from 'vitest'
import { printable } from '../../../cli/print.ts'
import { createReporter } from '../../../cli/reporter.ts'
import { table } from '../../../cli/table.ts'
import { liveLine } from '../../../cli/workflows/live-line.ts'

const TAG = 'meter\u001b[2J\u009b1;31m\r\u202e17\nsecond line'

test('printable escapes what a terminal would obey', () => {
  expect(printable(TAG)).toBe('meter\\u001b[2J\\u009b1;31m\\u000d\\u202e17\nsecond line')
  expect(printable('Zähler\t№ 7 🐑')).toBe('Zähler\t№ 7 🐑')
})

test('table keeps each cell on its line', () => {
  const lines = table(['tag'], [[TAG]])

  expect(lines).toHaveLength(3)
  expect(lines[2]).toBe('meter\\u001b[2J\\u009b1;31m\\u000d\\u202e17\\nsecond line')
})

test.each([true, false])('liveLine escapes control characters (on a terminal: %s)', (isTTY) => {
  const written: string[] = []
  liveLine({ isTTY, write: (text) => written.push(text) }).show('meter\u001b[31m17')

  expect(written.join('')).toContain('meter\\u001b[31m17')
})

test('a reporter escapes control characters in every line', async () => {
  const lines: string[] = []
  const reporter = createReporter((line) => lines.push(line))
  for (const say of [reporter.say, reporter.warn, reporter.heading, reporter.title]) say('meter\u001b[31m17')
  await reporter.step('meter\u001b[31m17', async () => undefined)

  expect(lines).toHaveLength(5)
  for (const line of lines) expect(line).toContain('meter\\u001b[31m17')
})
