/** The SIMs of a batch as CSV: read into the body that JSON has, rows unchecked. */
import type { FastifyInstance } from 'fastify'
import type { BatchRow } from '../../domain/workflows/provision-batch.ts'
import { idCell, nameOf, readSimRows } from './bulk-csv.ts'

/** `id` is what lists of SIMs call it. */
const COLUMNS: Readonly<Record<string, keyof BatchRow>> = {
  iccid: 'iccid',
  simid: 'simId',
  id: 'simId',
  poolid: 'poolId',
  tariffid: 'tariffId',
  tag: 'tag',
}

/** Has a scope take CSV besides JSON. What holds for all rows stands in the query then. */
export function takeProvisionFiles(app: FastifyInstance): void {
  app.addContentTypeParser<string>('text/csv', { parseAs: 'string' }, async (_: unknown, body: string) => ({
    sims: readSimRows(body, COLUMNS).map((row) => ({
      ...nameOf(row),
      ...idCell('poolId', row['poolId']),
      ...idCell('tariffId', row['tariffId']),
      ...(row['tag'] === undefined || row['tag'] === '' ? {} : { tag: row['tag'] }),
    })),
  }))
}
