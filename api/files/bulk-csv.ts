/** Reads the SIMs of a bulk run from CSV. Makes the same body as JSON, with unchecked rows. */

import { parse } from 'csv-parse/sync'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ServiceError } from '../../domain/errors.ts'
import { digitsOf } from '../../domain/spreadsheet.ts'
import type { BulkRow } from '../../domain/tickets/bulk.ts'
import { delimiterOf } from './delimiter.ts'
import { refuseLongLines } from './lines.ts'
import { AS_SAVED } from './sim-csv.ts'

/**
 * Makes a scope accept CSV besides JSON. With CSV, the other fields are in the query; `type` is copied into the body.
 */
export function takeBulkFiles(app: FastifyInstance): void {
  app.addContentTypeParser<string>('text/csv', { parseAs: 'string' }, async (request: FastifyRequest, body: string) => {
    const { query } = request
    const type: unknown = typeof query === 'object' && query !== null && 'type' in query ? query.type : undefined
    return { ...(type === undefined ? {} : { type }), sims: { rows: readSimRows(body, COLUMNS).map(nameOf) } }
  })
}

/** `id` is the column's name in lists of SIMs. */
const COLUMNS: Readonly<Record<string, keyof BulkRow>> = { iccid: 'iccid', simid: 'simId', id: 'simId' }

/**
 * Reads rows that each name a SIM. The first line names the columns, in upper or lower case. It has `iccid`, `simId` or
 * both, and may have the other taken columns. All other columns are ignored, so an exported list of SIMs can be sent
 * back.
 *
 * @param taken fields, by column name in lower case
 * @throws ServiceError invalid_request if the text is no such CSV, or names no SIM
 */
export function readSimRows(text: string, taken: Readonly<Record<string, string>>): Record<string, string>[] {
  const columns = (header: string[]) => {
    const known = header.map((name) => taken[name.toLowerCase()] ?? false)
    if (known.some((name) => name === 'iccid' || name === 'simId')) return known
    const detail = `got the columns ${header.slice(0, 20).join(', ') || 'of an empty file'}; expected iccid or simId`
    throw new ServiceError('invalid_request', `The CSV’s first line: ${detail}.`, { errors: [{ pointer: '', detail }] })
  }
  refuseLongLines(text)
  let rows: Record<string, string>[]
  try {
    rows = parse<Record<string, string>>(text, {
      columns,
      ...AS_SAVED,
      delimiter: delimiterOf(text),
    })
  } catch (error) {
    if (error instanceof ServiceError) throw error
    const why = error instanceof Error ? error.message : String(error)
    throw new ServiceError('invalid_request', `The CSV cannot be read: ${why}`)
  }
  if (rows.length > 0) return rows
  throw new ServiceError(
    'invalid_request',
    'The CSV names no SIM: expected a line of columns, and a line for each SIM.',
  )
}

/** Reads an id. An empty cell is no value. Text that is no number stays text, and the check of the rows refuses it. */
export function idCell(field: string, cell = ''): object {
  const id = digitsOf(cell)
  return id === '' ? {} : { [field]: /^\d{1,15}$/.test(id) ? Number(id) : id }
}

/** The SIM that a row names. */
export const nameOf = ({ simId, iccid = '' }: Record<string, string>): object => ({
  ...idCell('simId', simId),
  ...(iccid === '' ? {} : { iccid: digitsOf(iccid) }),
})
