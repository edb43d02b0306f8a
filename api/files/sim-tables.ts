/**
 * Reads the SIMs of a bulk run and of a batch from CSV. Makes the same body as JSON, with unchecked rows. An exported list of
 * SIMs can be sent back: what it has besides is not read.
 */
import type { FastifyInstance } from 'fastify'
import { Sim } from '../../domain/sims/sim.ts'
import { BatchRow, BulkRow } from '../../domain/tickets/bulk.ts'
import { columnsOf } from './csv.ts'
import { recordsOfTable, type Table } from './tables.ts'
import { takeFiles, upToMost } from './whole-files.ts'

/**
 * Columns of an exported list of SIMs: without activation codes, which are secrets; of the governing tariff only id, name and
 * type.
 */
export const SIM_COLUMNS: readonly string[] = [
  ...columnsOf(Sim, ['esimQrPayload', 'esimQrDataUrl', 'tariff']),
  'tariff.id',
  'tariff.displayName',
  'tariff.type',
]

const NAMED = {
  /** `id` is the column's name in lists of SIMs. */
  otherNames: { id: 'simId' },
  oneOf: ['iccid', 'simId'],
  ignored: new Set(SIM_COLUMNS.map((column) => column.toLowerCase())),
}
/** Makes the scope of bulk runs accept CSV besides JSON. The other fields are in the query; `type` is copied into the body. */
export function takeBulkFiles(app: FastifyInstance): void {
  takeFiles(app, {
    'text/csv': async (parts, { query }) => {
      const type: unknown = typeof query === 'object' && query !== null && 'type' in query ? query.type : undefined
      return { ...(type === undefined ? {} : { type }), sims: { rows: await rowsOf(parts, BulkRow.properties) } }
    },
  })
}

/** Makes the scope of batches accept CSV besides JSON. Values for all rows are in the query. */
export function takeBatchFiles(app: FastifyInstance): void {
  takeFiles(app, { 'text/csv': async (parts) => ({ sims: await rowsOf(parts, BatchRow.properties) }) })
}

const rowsOf = async (parts: AsyncGenerator<Buffer>, fields: Table['fields']): Promise<unknown[]> =>
  (await upToMost(recordsOfTable(parts, { ...NAMED, fields }))).map(({ value }) => value)
