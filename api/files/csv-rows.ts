/** Reads the rows of a CSV file, saved by any program, in bounded memory. */
import { parse } from 'csv-parse'
import { ServiceError } from '../../domain/errors.ts'
import { Waste } from '../../domain/files/waste.ts'
import { LINE_TOO_LONG, MOST_LINE } from './lines.ts'
import { unreadable } from './unpack.ts'
import { NOT_UTF8, Utf8Parts } from './utf8-parts.ts'

export interface Row {
  /** Without white space around them. Each row has as many as its line. */
  readonly cells: readonly string[]
  /** The line in which it begins, from 1. */
  readonly line: number
  /** Why its cells are not those of the file; null if they are. */
  readonly fault: string | null
}

/**
 * The rows that have a value; first the line of columns. All rows that end in a part come at once. Leaves out Excel's own
 * first line `sep=;`. The first line with a value decides the delimiter: comma, semicolon or tab. Each of CR, LF and CR LF
 * ends a row.
 *
 * @throws ServiceError invalid_request if the file is no CSV, or if a record is too long, or too many are blank
 */
export async function* rowsOf(parts: AsyncGenerator<Buffer>): AsyncGenerator<Row[]> {
  const { delimiter, all } = await delimiterOf(parts)
  const waste = new Waste('blank lines')
  const utf8 = new Utf8Parts()
  let rows: Row[] = []
  let isFirst = true
  /** Line and first byte of the next record. */
  let [line, begun] = [1, 0]
  /** Bytes arrived so far, and the end of the last part with invalid UTF-8. */
  let [written, spoiled] = [0, 0]
  const mustFit = (end: number) => {
    if (end - begun > MOST_LINE) throw unreadable('CSV', `the record in line ${line} ${LINE_TOO_LONG}`)
  }
  const take = (cells: readonly string[], end: number) => {
    mustFit(end)
    if (cells.every((cell) => cell === '')) waste.countUseless(`line ${line}`)
    else if (!isFirst || !/^sep=.?$/i.test(cells[0] ?? '')) {
      waste.countUseful()
      const fault = begun < spoiled && cells.some((cell) => cell.includes('\uFFFD')) ? NOT_UTF8 : null
      rows.push({ cells, line, fault })
      isFirst = false
    }
    line += 1 + breaksIn(cells)
    begun = end
  }
  const parser = parserOf(delimiter, take)
  try {
    for await (const part of all) {
      written += part.length
      if (!utf8.isText(part)) spoiled = written
      await new Promise<void>((resolve, reject) => {
        parser.write(part, (error) => (error == null ? resolve() : reject(error)))
      })
      mustFit(written)
      if (rows.length > 0) yield rows
      rows = []
    }
    if (!utf8.isWhole()) spoiled = written
    await new Promise<void>((resolve, reject) => {
      parser.end((error?: Error | null) => (error == null ? resolve() : reject(error)))
    })
  } catch (error) {
    throw error instanceof ServiceError ? error : unreadable('CSV', error)
  }
  if (rows.length > 0) yield rows
}

/** @param take gets each record, and the place of its end in bytes */
function parserOf(delimiter: string, take: (cells: readonly string[], end: number) => void) {
  const parser = parse({
    bom: true,
    delimiter,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    relax_quotes: true,
    trim: true,
    on_record: (cells: string[], { bytes }) => {
      take(cells, bytes)
      // The parser keeps nothing.
      return null
    },
  })
  // Each write has its own answer; without a listener a failure would end the process.
  parser.on('error', () => undefined)
  return parser
}

const breaksIn = (cells: readonly string[]): number =>
  cells.reduce((sum, cell) => sum + (/[\r\n]/.test(cell) ? breaks(cell) : 0), 0)
const breaks = (cell: string): number => cell.match(/\r\n|\n|\r/g)?.length ?? 0

/** As spreadsheet programs write them. */
const DELIMITERS = [',', ';', '\t']

/** The delimiter that appears most often in the first line. Column names contain none of them. */
function mostFrequent(text: string): string {
  const first = /[^\r\n]+/.exec(text)?.[0] ?? ''
  const count = (delimiter: string) => first.split(delimiter).length
  return DELIMITERS.reduce((best, other) => (count(other) > count(best) ? other : best))
}

/** Finds the delimiter. @returns it, and the whole file from its beginning */
async function delimiterOf(
  parts: AsyncGenerator<Buffer>,
): Promise<{ readonly delimiter: string; readonly all: AsyncGenerator<Buffer> }> {
  const read: Buffer[] = []
  let text = ''
  while (!/[^\r\n][\r\n]/.test(text) && text.length <= MOST_LINE) {
    const next = await parts.next()
    if (next.done === true) break
    read.push(next.value)
    // Decodes byte by byte: only ASCII is looked for, and a part may end within a character.
    text += next.value.toString('latin1')
  }
  async function* all() {
    yield* read
    yield* parts
  }
  return { delimiter: mostFrequent(text), all: all() }
}
