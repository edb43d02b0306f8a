import { parse } from 'csv-parse/sync'
import { expect, test } from 'vitest'
import { statementCsv } from '../../../operations/month-end/statement-csv.ts'

const line = {
  kind: 'pool',
  adjusts: null,
  poolId: 7,
  poolName: 'Pumps',
  simId: null,
  iccid: null,
  tariffId: 1,
  bytes: 0,
  voiceSeconds: 0,
  smsCount: 0,
  limitBytes: 0,
  overageBytes: 0,
  feeMicro: 0,
  smsMicro: 0,
  voiceMicro: 0,
  overageMicro: 0,
} as const

test('statementCsv neutralises formulas, but keeps amounts as numbers', () => {
  const csv = statementCsv([
    { ...line, poolName: '=HYPERLINK("http://x")' },
    { ...line, poolName: '-5', feeMicro: -1_500_000 },
  ])

  expect(parse(csv, { columns: true, bom: true })).toMatchObject([
    { pool: `'=HYPERLINK("http://x")`, total: '0.000000' },
    { pool: '-5', fee: '-1.500000', total: '-1.500000' },
  ])
})
