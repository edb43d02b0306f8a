/** Writes lists as CSV (RFC 4180), page by page. Memory stays bounded for lists of any length. */
import type { Readable } from 'node:stream'
import { stringify } from 'csv-stringify/sync'
import type { FastifyReply } from 'fastify'
import { type TSchema, Type } from 'typebox'
import { asTextCell, CSV_FORMAT, neutralised } from '../../domain/files/spreadsheet.ts'
import { DIGIT_FIELDS } from '../../domain/identifiers.ts'
import { streamed } from '../http/streaming.ts'

/** Query of a path that sends CSV. */
export const csvQuery = {
  spreadsheet: Type.Optional(
    Type.Boolean({
      description: 'For spreadsheet programs: writes ICCID, IMSI, MSISDN and IMEI as text (`="8944…"`)',
    }),
  ),
}

/** Declares the response of a path that sends CSV. */
export const csvResponse = (description: string, example: string) => ({
  produces: ['text/csv'],
  response: { 200: Type.Unsafe<Readable>(Type.String({ description, examples: [example] })) },
})

/**
 * The columns of a resource's schema, in its order. The fields of a nested object are named `object.field`.
 *
 * @param leftOut columns, or whole objects, to leave out
 */
export function columnsOf(schema: TSchema, leftOut: readonly string[] = [], prefix = ''): string[] {
  const { properties = {} }: { readonly properties?: Readonly<Record<string, TSchema>> } = schema
  return Object.entries(properties).flatMap(([name, property]) => {
    const column = prefix + name
    if (leftOut.includes(column)) return []
    const { anyOf: [inner = property] = [] }: { readonly anyOf?: readonly TSchema[] } = property
    return 'properties' in inner ? columnsOf(inner, leftOut, `${column}.`) : [column]
  })
}

export interface CsvOptions {
  readonly columns: readonly string[]
  /** For a spreadsheet program: adds a byte order mark, writes identifiers of digits as `="8944…"`. Default: false. */
  readonly spreadsheet?: boolean
}

/**
 * The text of a CSV file of the items of all pages, with a line of columns. Neutralises text that begins like a
 * formula. Writes a null or absent value as an empty cell.
 */
export async function* csvOf(
  pages: AsyncIterable<readonly object[]>,
  { columns, spreadsheet = false }: CsvOptions,
): AsyncGenerator<string, void> {
  // A spreadsheet program would read these identifiers as numbers.
  const isDigits = (column: unknown) => typeof column === 'string' && DIGIT_FIELDS.has(column)
  const text = (cell: string, column: unknown, isHeader: boolean) =>
    spreadsheet && !isHeader && isDigits(column) && /^\+?\d+$/.test(cell) ? asTextCell(cell) : neutralised(cell)
  const lines = (rows: readonly object[], header: boolean) =>
    stringify([...rows], {
      columns: [...columns],
      header,
      bom: header && spreadsheet,
      ...CSV_FORMAT,
      cast: { boolean: String, string: (cell, context) => text(cell, context.column, context.header) },
    })
  let isFirst = true
  for await (const page of pages) {
    yield lines(page, isFirst)
    isFirst = false
  }
  if (isFirst) yield lines([], true)
}

/** Sends the items of all pages as a file, of this name without its ending. @throws as {@link streamed} */
export async function sendCsv(
  reply: FastifyReply,
  name: string,
  pages: AsyncIterable<readonly object[]>,
  options: CsvOptions,
): Promise<FastifyReply> {
  const file = await streamed(reply, csvOf(pages, options))
  return reply
    .type('text/csv; charset=utf-8; header=present')
    .header('content-disposition', `attachment; filename="${name}.csv"`)
    .send(file)
}
