/**
 * Files of SIMs that make the body of a request: CSV, and for imports and orders NDJSON. Each is read whole, in turns with
 * others, into the same body as JSON, with unchecked records.
 */
import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ServiceError } from '../../domain/errors.ts'
import { decode, otherFormatOf } from '../../domain/files/utf8.ts'
import { Sim } from '../../domain/sims/sim.ts'
import { ImportedSim } from '../../domain/sims/sim-import.ts'
import { BatchRow, BulkRow, MOST_SIMS } from '../../domain/tickets/bulk.ts'
import { mustNotBePacked } from '../http/bodies.ts'
import { leavingOf, watchConnections } from '../http/left.ts'
import { columnsOf } from './csv.ts'
import { IgnoredFields } from './ignored-fields.ts'
import { type FileRecord, recordsOfLines } from './lines.ts'
import { partsOf } from './reading-turns.ts'
import { recordsOfTable, type Table } from './tables.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** First line of each record of the body, from 1. Null for a JSON body. */
    recordLines: readonly number[] | null
    /** The unknown fields of the records, which are passed over. Null: they are refused. */
    ignored: IgnoredFields | null
  }
}

/** For routes that take NDJSON and CSV besides JSON. */
export const SIM_FILES = {
  files: {
    'text/csv': 'iccid,imsi,tag\n8999900000000000018,001010000000018,meter 18\n',
    'application/x-ndjson': '{"iccid":"8999900000000000018","tag":"meter 18"}\n',
  },
  consumes: ['application/json', 'application/x-ndjson', 'text/csv'],
  bodies: takeSimFiles,
}

const TABLE: Table = { fields: ImportedSim.properties, oneOf: ['iccid'], mayIgnore: true }

function takeSimFiles(app: FastifyInstance): void {
  app.decorateRequest('recordLines', null)
  app.decorateRequest('ignored', null)
  app.addHook('onRequest', async (request) => {
    const { query } = request
    const isAsked = typeof query === 'object' && query !== null && 'ignoreUnknown' in query && query.ignoreUnknown
    if (isAsked === 'true') request.ignored = new IgnoredFields(ImportedSim.properties)
  })
  app.addHook('preValidation', async (request) => {
    const { ignored, body } = request
    if (ignored === null || typeof body !== 'object' || body === null || !('sims' in body)) return
    if (Array.isArray(body.sims)) request.body = { ...body, sims: body.sims.map((sim) => ignored.without(sim)) }
  })
  const asBody =
    (recordsOf: (parts: AsyncGenerator<Buffer>, ignored?: IgnoredFields) => AsyncGenerator<FileRecord[]>) =>
    async (parts: AsyncGenerator<Buffer>, request: FastifyRequest) => {
      const records = await upToMost(recordsOf(parts, request.ignored ?? undefined))
      request.recordLines = records.map(({ line }) => line)
      return { sims: records.map(({ value }) => value) }
    }
  const ndjson = asBody(recordsOfLines)
  takeFiles(app, {
    'application/x-ndjson': ndjson,
    'application/ndjson': ndjson,
    'text/csv': asBody((parts, ignored) => recordsOfTable(parts, TABLE, ignored)),
  })
}

/** For bulk runs: CSV besides JSON. The other fields are in the query; `type` is copied into the body. */
export const BULK_FILES = {
  files: { 'text/csv': 'iccid\n8999900000000000017\n' },
  consumes: ['application/json', 'text/csv'],
  bodies: (app: FastifyInstance) =>
    takeFiles(app, {
      'text/csv': async (parts, { query }) => {
        const type: unknown = typeof query === 'object' && query !== null && 'type' in query ? query.type : undefined
        return { ...(type === undefined ? {} : { type }), sims: { rows: await rowsOf(parts, BulkRow.properties) } }
      },
    }),
}

/** For batches: CSV besides JSON. Values for all rows are in the query. */
export const BATCH_FILES = {
  files: { 'text/csv': 'iccid,tag\n8999900000000000017,door 4\n' },
  consumes: ['application/json', 'text/csv'],
  bodies: (app: FastifyInstance) =>
    takeFiles(app, { 'text/csv': async (parts) => ({ sims: await rowsOf(parts, BatchRow.properties) }) }),
}

/** Columns of an exported list of SIMs: no activation codes (secrets); of the tariff only id, name and type. */
export const SIM_COLUMNS: readonly string[] = [
  ...columnsOf(Sim, ['esimQrPayload', 'esimQrDataUrl', 'tariff']),
  'tariff.id',
  'tariff.displayName',
  'tariff.type',
]

/** An exported list of SIMs can be sent back: its other columns are not read. */
const NAMED = {
  /** `id` is the column's name in lists of SIMs. */
  otherNames: { id: 'simId' },
  oneOf: ['iccid', 'simId'],
  ignored: new Set(SIM_COLUMNS.map((column) => column.toLowerCase())),
}

const rowsOf = async (parts: AsyncGenerator<Buffer>, fields: Table['fields']): Promise<unknown[]> =>
  (await upToMost(recordsOfTable(parts, { ...NAMED, fields }))).map(({ value }) => value)

/** Reads UTF-8. @returns the body of the request */
type Read = (parts: AsyncGenerator<Buffer>, request: FastifyRequest) => Promise<unknown>

/** Makes a scope accept files. @param readers by content type */
function takeFiles(app: FastifyInstance, readers: Readonly<Record<string, Read>>): void {
  watchConnections(app)
  for (const [type, read] of Object.entries(readers)) {
    app.addContentTypeParser<Buffer>(type, { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
      mustNotBePacked(body)
      mustBeUtf8(body)
      return read(partsOf(body, leavingOf(request)), request)
    })
  }
}

/** The records of a file. @throws ServiceError invalid_request if there are none, or too many: the rest is not read */
async function upToMost(batches: AsyncGenerator<readonly FileRecord[]>): Promise<FileRecord[]> {
  const records: FileRecord[] = []
  for await (const batch of batches) {
    records.push(...batch)
    if (records.length > MOST_SIMS) {
      throw new ServiceError('invalid_request', `The file has more than ${MOST_SIMS} SIMs: send it in parts.`)
    }
  }
  if (records.length > 0) return records
  throw new ServiceError(
    'invalid_request',
    'The file names no SIM: expected a record for each, of CSV below a line of columns.',
  )
}

/** @throws ServiceError invalid_request with the first line of invalid UTF-8 */
function mustBeUtf8(body: Buffer): void {
  // Decoded only to find the fault: a file of 64 MB takes a while.
  if (isUtf8(body) && otherFormatOf(body) === undefined) return
  const decoded = decode(body)
  if ('fault' in decoded) throw new ServiceError('invalid_request', `The file ${decoded.fault}.`)
}
