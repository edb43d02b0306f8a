/** Reads the SIMs of a bulk run from CSV. Makes the same body as JSON, with unchecked rows. */

import type { FastifyInstance } from 'fastify'
import { ServiceError } from '../../domain/errors.ts'
import { digitsOf } from '../../domain/spreadsheet.ts'
import type { BulkRow } from '../../domain/tickets/bulk.ts'
import { recordOf, rowsOf } from './csv-rows.ts'
import { takeFiles, upToMost } from './whole-files.ts'

/**
 * Makes a scope accept CSV besides JSON. With CSV, the other fields are in the query; `type` is copied into the body.
 */
export function takeBulkFiles(app: FastifyInstance): void {
  takeFiles(app, {
    'text/csv': async (parts, { query }) => {
      const type: unknown = typeof query === 'object' && query !== null && 'type' in query ? query.type : undefined
      const rows = await readSimRows(parts, COLUMNS)
      return { ...(type === undefined ? {} : { type }), sims: { rows: rows.map(nameOf) } }
    },
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
 * @param parts UTF-8
 * @throws ServiceError invalid_request if the file is no such CSV, or names no SIM
 */
export async function readSimRows(
  parts: AsyncGenerator<Buffer>,
  taken: Readonly<Record<string, string>>,
): Promise<Record<string, string>[]> {
  let columns: readonly string[] | undefined
  const rows: Record<string, string>[] = []
  for await (const row of upToMost(rowsOf(parts))) {
    if (columns === undefined) columns = columnsOf(row.cells, taken)
    else rows.push(recordOf(columns, row, (_, cell) => cell))
  }
  if (rows.length > 0) return rows
  throw new ServiceError(
    'invalid_request',
    'The CSV names no SIM: expected a line of columns, and a line for each SIM.',
  )
}

/** The field of each column; empty for one that is not taken. */
function columnsOf(header: readonly string[], taken: Readonly<Record<string, string>>): readonly string[] {
  const columns = header.map((name) => taken[name.toLowerCase()] ?? '')
  if (columns.includes('iccid') || columns.includes('simId')) return columns
  const detail = `got the columns ${header.slice(0, 20).join(', ')}; expected iccid or simId`
  throw new ServiceError('invalid_request', `The CSV’s first line: ${detail}.`, { errors: [{ pointer: '', detail }] })
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
