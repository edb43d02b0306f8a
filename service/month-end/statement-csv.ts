/**
 * A statement as CSV for spreadsheets. Formulas in names are neutralised. Amounts are in units of the currency, with
 * six decimals.
 */
import { stringify } from 'csv-stringify/sync'
import { CSV_FORMAT, neutralised } from '../../domain/files/spreadsheet.ts'
import { MICRO, toMB, toMinutes } from '../../domain/units.ts'
import type { StatementLine } from './rows/statements.ts'

const money = (micro: number) => (micro / MICRO).toFixed(6)

/** Columns of a statement's file, in order. Add new ones at the end. */
export const STATEMENT_COLUMNS = [
  'line',
  'pool',
  'iccid',
  'usageMB',
  'limitMB',
  'overageMB',
  'voiceMins',
  'smsCount',
  'fee',
  'sms',
  'voice',
  'overage',
  'total',
  'adjusts',
  'tag',
  'tariff',
  'currency',
] as const

/**
 * The lines as rows of the file; an empty cycle has no rows. `adjusts` names the cycle that an adjustment is about.
 *
 * @param currency ISO 4217
 */
export const statementRows = (
  lines: readonly StatementLine[],
  currency: string,
): Record<(typeof STATEMENT_COLUMNS)[number], string | number>[] =>
  lines
    .filter(({ kind }) => kind !== 'empty')
    .map((line) => ({
      line: line.kind,
      pool: line.poolId === 0 ? '' : line.poolName,
      iccid: line.iccid ?? '',
      usageMB: toMB(line.bytes),
      limitMB: toMB(line.limitBytes),
      overageMB: toMB(line.overageBytes),
      voiceMins: toMinutes(line.voiceSeconds),
      smsCount: line.smsCount,
      fee: money(line.feeMicro),
      sms: money(line.smsMicro),
      voice: money(line.voiceMicro),
      overage: money(line.overageMicro),
      total: money(line.feeMicro + line.smsMicro + line.voiceMicro + line.overageMicro),
      adjusts: line.adjusts ?? '',
      tag: line.tag ?? '',
      tariff: line.tariffName ?? '',
      currency,
    }))

/** The CSV file of a statement, with a header and a byte order mark. */
export const statementCsv = (lines: readonly StatementLine[], currency: string): string =>
  stringify(statementRows(lines, currency), {
    ...CSV_FORMAT,
    header: true,
    columns: [...STATEMENT_COLUMNS],
    cast: { string: neutralised },
    bom: true,
  })
