/** Lists as CSV (RFC 4180), written page by page: bounded memory however long they are. */
import { Readable } from 'node:stream'
import { stringify } from 'csv-stringify/sync'
import type { TSchema } from 'typebox'
import { asTextCell, neutralised } from '../../domain/spreadsheet.ts'

/** Digits that are a name: a spreadsheet program takes them for a number. */
const DIGITS: ReadonlySet<unknown> = new Set(['iccid', 'imsi', 'msisdn', 'imei'])

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
const partOf = (value: unknown, name: string): unknown =>
  isObject(value) ? Object.entries(value).find(([key]) => key === name)?.[1] : undefined

/**
 * The columns a resource's schema makes, in its order; the fields of an object in it stand as `object.field`.
 *
 * @param leftOut columns, or whole objects, that are not wanted
 */
export function columnsOf(schema: TSchema, leftOut: readonly string[] = [], prefix = ''): string[] {
  const properties = partOf(schema, 'properties')
  if (!isObject(properties)) return []
  return Object.entries(properties).flatMap(([name, property]) => {
    const column = prefix + name
    if (leftOut.includes(column)) return []
    const [inner = property] = [partOf(property, 'anyOf')].flat()
    return partOf(inner, 'properties') === undefined ? [column] : columnsOf(inner, leftOut, `${column}.`)
  })
}

export interface CsvOptions {
  readonly columns: readonly string[]
  /** For a spreadsheet program that opens the file: digits that are names as `="8944…"`, a byte order mark. */
  readonly spreadsheet: boolean
}

/** Text that begins like a formula is made harmless; a value that is null or absent is an empty cell. */
async function* csv(
  first: IteratorResult<readonly object[], void>,
  rest: AsyncGenerator<readonly object[], void>,
  { columns, spreadsheet }: CsvOptions,
) {
  const text = (cell: string, column: unknown, isHeader: boolean) =>
    spreadsheet && !isHeader && DIGITS.has(column) && /^\+?\d+$/.test(cell) ? asTextCell(cell) : neutralised(cell)
  const lines = (rows: readonly object[], header: boolean) =>
    stringify([...rows], {
      columns: [...columns],
      header,
      bom: header && spreadsheet,
      record_delimiter: 'windows',
      cast: { boolean: String, string: (cell, context) => text(cell, context.column, context.header) },
    })
  yield lines(first.done === true ? [] : first.value, true)
  for (let page = await rest.next(); page.done !== true; page = await rest.next()) yield lines(page.value, false)
}

/**
 * A CSV file of all pages' items, its first line the names of the columns.
 *
 * The first page is read before this resolves, so that a failure there is still an answer of its own.
 */
export const streamedCsv = async (
  pages: AsyncGenerator<readonly object[], void>,
  options: CsvOptions,
): Promise<Readable> => Readable.from(csv(await pages.next(), pages, options))
