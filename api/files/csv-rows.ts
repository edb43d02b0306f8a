/** Reads the rows of a CSV file, saved by any program, in bounded memory. */
import { parse } from 'csv-parse'
import { ServiceError } from '../../domain/errors.ts'
import { Waste } from '../../domain/waste.ts'
import { delimiterOf } from './delimiter.ts'
import { LINE_TOO_LONG, MOST_LINE } from './lines.ts'
import { unreadable } from './unpack.ts'

export interface Row {
  /** Without white space around them. Each row has as many as its line. */
  readonly cells: readonly string[]
  /** The line in which it begins, from 1. */
  readonly line: number
}

/**
 * The values of a row, by column. An empty cell is no value, nor is one whose column has no name.
 *
 * @param columns the field of each column; empty for one that is not taken
 * @param valueOf converts the text of a cell
 */
export const recordOf = <T>(
  columns: readonly string[],
  { cells }: Row,
  valueOf: (column: string, cell: string) => T,
): Record<string, T> =>
  Object.fromEntries(
    columns.flatMap((column, at) => {
      const cell = cells[at] ?? ''
      return column === '' || cell === '' ? [] : [[column, valueOf(column, cell)]]
    }),
  )

/**
 * The rows that have a value; first the line of columns. All rows that end in a part come at once. Leaves out Excel's own
 * first line `sep=;`. The first line with a value decides the delimiter: comma, semicolon or tab.
 *
 * @param parts UTF-8
 * @throws ServiceError invalid_request if the file is no CSV, or if a record is too long, or too many are blank
 */
export async function* rowsOf(parts: AsyncGenerator<Buffer>): AsyncGenerator<Row[]> {
  const { delimiter, all } = await delimiterOf(parts)
  const waste = new Waste('blank lines')
  let rows: Row[] = []
  let isFirst = true
  const take = (cells: readonly string[], lines: number) => {
    const line = lines - breaksIn(cells)
    if (cells.every((cell) => cell === '')) waste.countUseless(`line ${line}`)
    else if (!isFirst || !/^sep=.?$/i.test(cells[0] ?? '')) {
      waste.countUseful()
      rows.push({ cells, line })
      isFirst = false
    }
  }
  const parser = parse({
    bom: true,
    delimiter,
    relax_column_count: true,
    relax_quotes: true,
    trim: true,
    on_record: (cells: string[], { lines }) => {
      take(cells, lines)
      // The parser keeps nothing.
      return null
    },
  })
  // Each write has its own answer; without a listener a failure would end the process.
  parser.on('error', () => undefined)
  try {
    for await (const part of measured(all)) {
      await new Promise<void>((resolve, reject) => {
        parser.write(part, (error) => (error == null ? resolve() : reject(error)))
      })
      if (rows.length > 0) yield rows
      rows = []
    }
    await new Promise<void>((resolve, reject) => {
      parser.end((error?: Error | null) => (error == null ? resolve() : reject(error)))
    })
  } catch (error) {
    throw error instanceof ServiceError ? error : unreadable('CSV', error)
  }
  if (rows.length > 0) yield rows
}

const NEWLINE = 0x0a
const QUOTE = 0x22

/**
 * Passes CSV on until a record is too long. Line ends within quotes belong to the record.
 *
 * @throws ServiceError invalid_request
 */
async function* measured(parts: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let [length, lines, begun, quoted] = [0, 1, 1, false]
  for await (const part of parts) {
    for (const byte of part) {
      length += 1
      if (byte === QUOTE) quoted = !quoted
      if (byte === NEWLINE) {
        lines += 1
        if (!quoted) [length, begun] = [0, lines]
      }
      if (length > MOST_LINE) throw unreadable('CSV', `the record in line ${begun} ${LINE_TOO_LONG}`)
    }
    yield part
  }
}

/** Line breaks within a record. The parser counts lines up to the end of a record. */
const breaksIn = (cells: readonly string[]): number =>
  cells.reduce((sum, cell) => sum + (cell.includes('\n') || cell.includes('\r') ? breaks(cell) : 0), 0)
const breaks = (cell: string): number => cell.match(/\r\n|\n|\r/g)?.length ?? 0
