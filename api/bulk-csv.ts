/** The SIMs of a bulk run as CSV: read into the body that JSON has, rows unchecked. */
import { parse } from 'csv-parse/sync'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { BulkRow } from '../domain/bulk-tickets.ts'
import { ServiceError } from '../domain/errors.ts'
import { digitsOf } from '../domain/spreadsheet.ts'

/** Has a scope take CSV besides JSON. What is asked for stands in the query then. */
export function takeBulkFiles(app: FastifyInstance): void {
  app.addContentTypeParser<string>('text/csv', { parseAs: 'string' }, async (request: FastifyRequest, body: string) => {
    const { query } = request
    const type: unknown = typeof query === 'object' && query !== null && 'type' in query ? query.type : undefined
    return { ...(type === undefined ? {} : { type }), sims: { rows: readRows(body) } }
  })
}

/** `id` is what lists of SIMs call it. */
const COLUMNS: Readonly<Record<string, keyof BulkRow>> = { iccid: 'iccid', simid: 'simId', id: 'simId' }

/**
 * The first line names the columns, upper or lower case: `iccid`, `simId`, or both; all others are passed over, so
 * that a list of SIMs that was exported can be sent back.
 */
function readRows(text: string): unknown[] {
  const columns = (header: string[]) => {
    const known = header.map((name) => COLUMNS[name.toLowerCase()] ?? false)
    if (known.some((name) => name !== false)) return known
    const detail = `got the columns ${header.slice(0, 20).join(', ') || 'of an empty file'}; expected iccid or simId`
    throw new ServiceError('invalid_request', `The CSV’s first line: ${detail}.`, { errors: [{ pointer: '', detail }] })
  }
  let rows: Record<string, string>[]
  try {
    rows = parse<Record<string, string>>(text, {
      columns,
      bom: true,
      delimiter: [',', ';', '\t'],
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      skip_records_with_empty_values: true,
      trim: true,
    })
  } catch (error) {
    if (error instanceof ServiceError) throw error
    const why = error instanceof Error ? error.message : String(error)
    throw new ServiceError('invalid_request', `The CSV cannot be read: ${why}`)
  }
  if (rows.length > 0) return rows.map(rowOf)
  throw new ServiceError(
    'invalid_request',
    'The CSV names no SIM: expected a line of columns, and a line for each SIM.',
  )
}

/** An empty cell is no value; what is no number stays text, and is refused where rows are checked. */
function rowOf({ simId = '', iccid = '' }: Record<string, string>): unknown {
  const id = digitsOf(simId)
  return {
    ...(id === '' ? {} : { simId: /^\d{1,15}$/.test(id) ? Number(id) : id }),
    ...(iccid === '' ? {} : { iccid: digitsOf(iccid) }),
  }
}
