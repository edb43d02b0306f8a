/** Reads tables: CSV with a line of columns. Every list in CSV passes this reader. */
import type { TProperties, TSchema } from 'typebox'
import { didYouMean } from '../../domain/did-you-mean.ts'
import { ServiceError } from '../../domain/errors.ts'
import { digitsOf, meantBy } from '../../domain/files/spreadsheet.ts'
import { Unreadable } from '../../domain/files/waste.ts'
import { DIGIT_FIELDS } from '../../domain/identifiers.ts'
import { quote } from '../../domain/quote.ts'
import { LABEL_PATTERN } from '../../domain/text.ts'
import { type Row, rowsOf } from './csv-rows.ts'
import type { IgnoredFields } from './ignored-fields.ts'
import type { FileRecord } from './lines.ts'

/** The permitted columns of a table. */
export interface Table {
  /** The fields of a record, with their schemas. The name of a column is that of its field, in upper or lower case. */
  readonly fields: TProperties
  /** Other names of columns, in lower case, with the fields they mean. */
  readonly otherNames?: Readonly<Record<string, string>>
  /** A table has at least one of these fields. */
  readonly oneOf: readonly string[]
  /**
   * Names of columns, in lower case, that are not read. With them, other names are not read either, but for those that
   * resemble a field. Absent: a table has no other columns.
   */
  readonly ignored?: ReadonlySet<string>
  /** Whether the request may ask to pass over unknown columns. */
  readonly mayIgnore?: boolean
}

/** The field of each column. Empty for a column without a name; null for an ignored one. */
type Columns = readonly (string | null)[]

/**
 * The records of a table, unchecked, some at a time. An empty cell is no value. A row with a value outside of the columns, or
 * with bytes that are not UTF-8, is {@link Unreadable}.
 *
 * @param ignored gets the unknown columns, which are then not read. Absent: they are refused
 * @throws ServiceError invalid_request if the file is no CSV, or if a column is unknown, duplicate or missing
 */
export async function* recordsOfTable(
  parts: AsyncGenerator<Buffer>,
  table: Table,
  ignored?: IgnoredFields,
): AsyncGenerator<FileRecord[]> {
  const readers = new Map(Object.entries(table.fields).map(([field, schema]) => [field, readerOf(field, schema)]))
  let columns: Columns | undefined
  for await (const rows of rowsOf(parts)) {
    columns ??= columnsOf(rows.shift(), table, ignored)
    const known = columns
    yield rows.map((row) => ({ line: row.line, value: recordOf(row, known, readers) }))
  }
}

function recordOf({ cells, line, fault }: Row, columns: Columns, readers: ReadonlyMap<string, ReadCell>): unknown {
  if (fault !== null) return new Unreadable(line, fault)
  const record: Record<string, unknown> = {}
  for (const [at, cell] of cells.entries()) {
    const field = columns[at] ?? (at < columns.length ? null : '')
    if (cell === '' || field === null) continue
    if (field === '') return new Unreadable(line, surplusAt(at, cell, columns.length))
    record[field] = readers.get(field)?.(cell)
  }
  return record
}

function surplusAt(at: number, cell: string, expected: number): string {
  const why = `got a value in cell ${at + 1}, ${quote(JSON.stringify(cell), SHOWN)}; expected ${expected} cells`
  return `${why}: text with the separator in it needs quotes`
}

/** Reads a cell that has text. Keeps text that is no such value; the check of the records rejects it. */
type ReadCell = (cell: string) => unknown

/** How the cells of a field are read: identifiers of digits by its name, all others by its schema. */
function readerOf(field: string, schema: TSchema): ReadCell {
  const { type, pattern }: { readonly type?: unknown; readonly pattern?: unknown } = schema
  const types = [type].flat()
  if (DIGIT_FIELDS.has(field)) return digitsOf
  if (types.includes('integer')) return integerIn
  if (types.includes('boolean')) return booleanIn
  return pattern === LABEL_PATTERN ? meantBy : (cell) => cell
}

function integerIn(cell: string): unknown {
  const [, asText, plain] = /^(?:="(-?\d{1,16})"|'?(-?\d{1,16}))$/.exec(cell) ?? []
  const digits = asText ?? plain
  return digits === undefined ? cell : Number(digits)
}

const booleanIn: ReadCell = (cell) => (/^(true|false|1|0)$/i.test(cell) ? /^(true|1)$/i.test(cell) : cell)

function columnsOf(header: Row | undefined, table: Table, ignored?: IgnoredFields): Columns {
  const names = header?.cells ?? []
  const fields = Object.keys(table.fields)
  const known = new Map(fields.map((field) => [field.toLowerCase(), field]))
  for (const [name, field] of Object.entries(table.otherNames ?? {})) known.set(name, field)
  const columns = names.map((name) => (name === '' ? '' : (known.get(name.toLowerCase()) ?? null)))
  const unknown = names.filter((_, at) => columns[at] === null)
  if (ignored !== undefined) for (const name of unknown) ignored.add(name)
  else {
    const strange = unknown.flatMap((name) => strangeness(name, table) ?? [])
    if (strange.length > 0)
      throw columnFault(`unknown column ${strange.slice(0, 5).join(', ')}`, fields, table.mayIgnore)
  }
  const twice = columns.findIndex((field, at) => field !== '' && field !== null && columns.indexOf(field) !== at)
  if (twice >= 0) {
    const [first, second] = [names[columns.indexOf(columns[twice] ?? '')], names[twice]].map((name) =>
      JSON.stringify(name),
    )
    throw columnFault(`column ${columns[twice]} is there twice, as ${first} and as ${second}`, fields)
  }
  if (table.oneOf.some((field) => columns.includes(field))) return columns
  throw columnFault(`no column ${table.oneOf.join(' or ')}, got ${names.slice(0, 20).join(', ')}`, fields)
}

/** Why a column cannot be left unread; undefined if it can. */
function strangeness(name: string, { fields, ignored }: Table): string | undefined {
  if (ignored?.has(name.toLowerCase()) === true) return undefined
  const meant = fieldMeantBy(name, Object.keys(fields))
  if (meant === undefined && ignored !== undefined) return undefined
  return `${quote(JSON.stringify(name), SHOWN)}${meant === undefined ? '' : `: ${meant}`}`
}

/** Most bytes shown of a cell. */
const SHOWN = 60

/** `did you mean …?`, for a name that resembles a field: `pool_id`, `Target pool`, `tarifId`. */
function fieldMeantBy(name: string, fields: readonly string[]): string | undefined {
  const words = name
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
  const stems = new Map(
    fields.flatMap((field) => {
      const name = field.toLowerCase()
      return [[name, field] as const, [name.replace(/id$/, ''), field] as const]
    }),
  )
  const stem = words.find((word) => word.length > 3 && stems.has(word))
  return stem === undefined ? didYouMean(words.join(''), fields) : `did you mean ${stems.get(stem)}?`
}

function columnFault(why: string, fields: readonly string[], mayIgnore = false): ServiceError {
  const advice = mayIgnore ? ', or ignoreUnknown=true to pass it over' : ''
  const detail = `${why}; expected some of ${fields.join(', ')}${advice}`
  return new ServiceError('invalid_request', `The CSV's first line: ${detail}`, { errors: [{ pointer: '', detail }] })
}
