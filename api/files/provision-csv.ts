/** Reads the SIMs of a batch from CSV. Makes the same body as JSON, with unchecked rows. */
import type { FastifyInstance } from 'fastify'
import type { BatchRow } from '../../domain/workflows/provision-batch.ts'
import { idCell, nameOf, readSimRows } from './bulk-csv.ts'
import { takeFiles } from './whole-files.ts'

/** `id` is the column's name in lists of SIMs. */
const COLUMNS: Readonly<Record<string, keyof BatchRow>> = {
  iccid: 'iccid',
  simid: 'simId',
  id: 'simId',
  poolid: 'poolId',
  tariffid: 'tariffId',
  tag: 'tag',
}

/** Makes a scope accept CSV besides JSON. With CSV, values for all rows are in the query. */
export function takeProvisionFiles(app: FastifyInstance): void {
  takeFiles(app, {
    'text/csv': async (parts) => ({
      sims: (await readSimRows(parts, COLUMNS)).map((row) => ({
        ...nameOf(row),
        ...idCell('poolId', row['poolId']),
        ...idCell('tariffId', row['tariffId']),
        ...(row['tag'] === undefined ? {} : { tag: row['tag'] }),
      })),
    }),
  })
}
