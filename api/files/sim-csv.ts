/** Reads a list of SIMs from CSV, written by any program. Records are unchecked; each has its line number. */
import { ServiceError } from '../../domain/errors.ts'
import { digitsOf } from '../../domain/spreadsheet.ts'
import { DIGIT_FIELDS, SIM_FIELDS, unknownField } from '../../operations/estate/check-sim.ts'
import type { SimFile } from '../../operations/estate/import-sims.ts'
import { recordOf, rowsOf } from './csv-rows.ts'
import { unreadable } from './unpack.ts'
import { upToMost } from './whole-files.ts'

/** Records and their places in the file. */
export interface SimRecords extends SimFile {
  readonly sims: unknown[]
}

/**
 * Reads CSV whose first line names the columns, in any order, in upper or lower case. An empty cell is no value. A row with
 * too many cells is kept as unreadable.
 *
 * @param parts UTF-8
 * @throws ServiceError invalid_request if the file is no CSV, or if a column is unknown, duplicate or missing
 */
export async function readSimCsv(parts: AsyncGenerator<Buffer>): Promise<SimRecords> {
  let columns: readonly string[] | undefined
  const sims: unknown[] = []
  const lines: number[] = []
  const surplus = new Map<number, string>()
  for await (const row of upToMost(rowsOf(parts))) {
    if (columns === undefined) {
      columns = columnsOf(row.cells)
      continue
    }
    const why = surplusIn(row.cells, columns)
    if (why !== undefined) surplus.set(sims.length, why)
    sims.push(recordOf(columns, row, valueOf))
    lines.push(row.line)
  }
  if (columns === undefined) {
    throw unreadable('CSV', `it is empty; expected a line of columns: ${SIM_FIELDS.join(', ')}`)
  }
  return { sims, lines, unreadable: surplus }
}

/** What is wrong with a row that has a value outside of the columns. */
function surplusIn(cells: readonly string[], columns: readonly string[]): string | undefined {
  const surplus = cells.findIndex((cell, at) => cell !== '' && (columns[at] ?? '') === '')
  if (surplus < 0) return undefined
  const why = `got a value in cell ${surplus + 1}, ${JSON.stringify(cells[surplus])}; expected ${columns.length} cells`
  return `${why}: text with the separator in it needs quotes`
}

/** The field of each column. Empty for a column without a name. */
function columnsOf(cells: readonly string[]): string[] {
  const known = new Map(SIM_FIELDS.map((name) => [name.toLowerCase(), name]))
  const columns = cells.map((cell) => (cell === '' ? '' : known.get(cell.toLowerCase())))
  const unknown = cells.filter((_, at) => columns[at] === undefined)
  if (unknown.length > 0) {
    const shown = unknown.slice(0, 5).map(unknownField).join(', ')
    throw columnFault(`no column of a SIM: ${shown}`)
  }
  const named = columns.filter((name) => name !== undefined)
  const twice = named.find((name, at) => name !== '' && named.indexOf(name) !== at)
  if (twice !== undefined) throw columnFault(`column ${twice} is there twice`)
  if (!named.includes('iccid')) throw columnFault(`no column iccid, got ${cells.slice(0, 20).join(', ')}`)
  return named
}

function columnFault(why: string): ServiceError {
  const detail = `${why}; expected some of ${SIM_FIELDS.join(', ')}`
  return new ServiceError('invalid_request', `The CSV's first line: ${detail}`, { errors: [{ pointer: '', detail }] })
}

const INTEGERS: ReadonlySet<string> = new Set(
  'type watchdogMode warningThresholdPct status poolId tariffId usageBytes voiceSeconds smsCount'.split(' '),
)
const BOOLEANS: ReadonlySet<string> = new Set(['enableBurnRateAlerts', 'isWatchdogExempt'])

/** Converts a cell to the type of its column. Other text stays text, and the check of the records rejects it. */
function valueOf(column: string, cell: string): unknown {
  if (DIGIT_FIELDS.has(column)) return digitsOf(cell)
  if (INTEGERS.has(column) && /^\d{1,16}$/.test(cell)) return Number(cell)
  if (BOOLEANS.has(column) && /^(true|false|1|0)$/i.test(cell)) return /^(true|1)$/i.test(cell)
  return cell
}
