/** Each file of CSV that the service writes is read back, as programs read it: each of CR, LF and CR LF ends a row. */
import { text as textOf } from 'node:stream/consumers'
import { parse } from 'csv-parse/sync'
import { describe, expect, test } from 'vitest'
import { csvOf } from '../../../api/files/csv.ts'
import { neutralised } from '../../../domain/files/spreadsheet.ts'
import { noticesCsv } from '../../../service/channels/render-body.ts'
import { statementCsv } from '../../../service/month-end/statement-csv.ts'
import { STATEMENT_LINE } from '../../setup/statement-line.ts'
import { anAlert } from '../channels/notifications.ts'

const TEXTS = [
  'c\nd',
  'a\rb',
  'x\r\ny',
  '\n',
  '\r',
  'ends\n',
  'a,b;c\td',
  '"',
  'say "a", then\n"b"',
  ' before and after ',
  '\u00A0',
  "'",
  '=1+1',
  '+cmd',
  '-2+3',
  '@SUM(A1)',
  'a\n=1+1',
  'a\u2028b\u0085c\u0000d',
  '',
]

async function* pages(names: readonly string[]) {
  yield names.map((name) => ({ name, pool: name, id: 1 }))
  yield names.map((name) => ({ name, pool: name, id: 2 }))
}
const list = async (names: readonly string[], spreadsheet: boolean) =>
  textOf(csvOf(pages(names), { columns: ['name', 'pool', 'id'], spreadsheet }))
const twice = (names: readonly string[]) => [...names, ...names]

const once = (names: readonly string[]) => names
const statement = (names: readonly string[]) =>
  statementCsv(
    names.map((poolName) => ({ ...STATEMENT_LINE, poolName, tag: poolName, tariffName: poolName })),
    'EUR',
  )
const alertNamed = (label: string) =>
  anAlert({ poolName: label, message: label, subject: { kind: 'pool', id: 7, label } })
const notices = (names: readonly string[]) => noticesCsv(names.map(alertNamed))

describe.each([
  ['a list', (names: readonly string[]) => list(names, false), ['name', 'pool'], twice],
  ['a list for spreadsheets', (names: readonly string[]) => list(names, true), ['name', 'pool'], twice],
  ['a statement', statement, ['pool', 'tag', 'tariff'], once],
  ['the notices of a mail', notices, ['name', 'pool', 'message'], once],
] as const)('%s', (_, written, columns, expected) => {
  const rows = (csv: string, options: object): Record<string, string>[] =>
    parse(csv, { columns: true, bom: true, record_delimiter: ['\r\n', '\n', '\r'], ...options })

  test('is read back as it was, whatever the text', async () => {
    const read = rows(await written(TEXTS), {})

    for (const column of columns) {
      expect(read.map((row) => row[column])).toEqual(expected(TEXTS).map(neutralised))
    }
  })

  test('keeps spaces for programs that remove them around a cell', async () => {
    const read = rows(await written([' a ', '\tb']), { trim: true })

    expect(read.map((row) => row[columns[0]])).toEqual(expected([' a ', '\tb']).map(neutralised))
  })
})
