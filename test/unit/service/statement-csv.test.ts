import { parse } from 'csv-parse/sync'
import { expect, test } from 'vitest'
import { statementCsv } from '../../../service/month-end/statement-csv.ts'
import { STATEMENT_LINE } from '../../setup/statement-line.ts'

test('statementCsv neutralises formulas, but keeps amounts as numbers', () => {
  const csv = statementCsv(
    [
      { ...STATEMENT_LINE, poolName: '=HYPERLINK("http://x")' },
      { ...STATEMENT_LINE, poolName: '-5', feeMicro: -1_500_000 },
    ],
    'USD',
  )

  expect(parse(csv, { columns: true, bom: true })).toMatchObject([
    { pool: `'=HYPERLINK("http://x")`, total: '0.000000' },
    { pool: '-5', fee: '-1.500000', total: '-1.500000', tag: '', tariff: 'Metering', currency: 'USD' },
  ])
})
