/** Reads a list of SIMs from CSV, written by any program. Records are unchecked; each has its line number. */

import { parse } from 'csv-parse/sync'
import { ServiceError } from '../../domain/errors.ts'
import { digitsOf } from '../../domain/spreadsheet.ts'
import { DIGIT_FIELDS, SIM_FIELDS, unknownField } from '../../operations/estate/check-sim.ts'
import type { SimFile } from '../../operations/estate/import-sims.ts'
import { delimiterOf } from './delimiter.ts'
import { refuseLongLines } from './lines.ts'

/** Records and their places in the file. */
export interface SimRecords extends SimFile {
  readonly sims: unknown[]
}

interface Row {
  readonly cells: readonly string[]
  readonly line: number
}

/** Parser options for CSV saved from any program. */
export const AS_SAVED = {
  bom: true,
  relax_column_count: true,
  relax_quotes: true,
  skip_empty_lines: true,
  skip_records_with_empty_values: true,
  trim: true,
} as const

const refused = (why: string, cause?: unknown) =>
  new ServiceError('invalid_request', `The CSV cannot be read: ${why}`, { cause })

/**
 * Reads CSV whose first line names the columns, in any order, in upper or lower case. An empty cell is no value. The
 * first line decides the delimiter: comma, semicolon or tab. A row with too many cells is kept as unreadable.
 *
 * @throws ServiceError invalid_request if the text is no CSV, or if a column is unknown, duplicate or missing
 */
export function readSimCsv(text: string): SimRecords {
  refuseLongLines(text)
  const { body, skipped } = withoutHint(text)
  const [header, ...rows] = rowsOf(body, skipped)
  if (header === undefined) throw refused(`it is empty; expected a line of columns: ${SIM_FIELDS.join(', ')}`)
  const columns = columnsOf(header)
  const sims: unknown[] = []
  const lines: number[] = []
  const unreadable = new Map<number, string>()
  for (const { cells, line } of rows) {
    const surplus = cells.findIndex((cell, at) => cell !== '' && (columns[at] ?? '') === '')
    if (surplus >= 0) {
      const why = `got a value in cell ${surplus + 1}, ${JSON.stringify(cells[surplus])}; expected ${columns.length} cells`
      unreadable.set(sims.length, `${why}: text with the separator in it needs quotes`)
    }
    sims.push(recordOf(columns, cells))
    lines.push(line)
  }
  return { sims, lines, unreadable }
}

/** Removes Excel's own first line `sep=;`. The line of columns shows the delimiter as well. */
function withoutHint(text: string): { body: string; skipped: number } {
  const hint = /^\uFEFF?"?sep=.?"?(?:\r\n|\n|\r)/i.exec(text)
  return hint === null ? { body: text, skipped: 0 } : { body: text.slice(hint[0].length), skipped: 1 }
}

function rowsOf(text: string, skipped: number): Row[] {
  const ends: number[] = []
  try {
    const rows = parse(text, {
      ...AS_SAVED,
      delimiter: delimiterOf(text),
      on_record: (record: string[], { lines }) => {
        ends.push(lines)
        return record
      },
    })
    return rows.map((cells, at) => ({ cells, line: (ends[at] ?? 0) + skipped - breaksIn(cells) }))
  } catch (error) {
    throw refused(error instanceof Error ? error.message : String(error), error)
  }
}

/** Line breaks within a record. The parser counts lines up to the end of a record. */
const breaksIn = (cells: readonly string[]): number =>
  cells.reduce((sum, cell) => sum + (cell.includes('\n') || cell.includes('\r') ? breaks(cell) : 0), 0)
const breaks = (cell: string): number => cell.match(/\r\n|\n|\r/g)?.length ?? 0

/** The field of each column. Empty for a column without a name. */
function columnsOf({ cells }: Row): string[] {
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

const recordOf = (columns: readonly string[], cells: readonly string[]): unknown =>
  Object.fromEntries(
    columns.flatMap((column, at) => {
      const cell = cells[at] ?? ''
      return column === '' || cell === '' ? [] : [[column, valueOf(column, cell)]]
    }),
  )

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
