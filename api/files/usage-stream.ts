/**
 * Reads a usage delivery as a stream of unchecked records: JSON, NDJSON or CSV, plain or gzipped. NDJSON and CSV take
 * bounded memory, however long they are. JSON is read whole, up to a maximum size.
 */

import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ServiceError } from '../../domain/errors.ts'
import { UsageRecord } from '../../domain/usage/usage-record.ts'
import { isPacked, jsonOf } from '../http/bodies.ts'
import { leavingOf, watchConnections } from '../http/left.ts'
import type { IgnoredFields } from './ignored-fields.ts'
import { type FileRecord, recordsOfLines } from './lines.ts'
import { takeTurn } from './reading-turns.ts'
import { recordsOfTable, type Table } from './tables.ts'
import { bytesOf } from './unpack.ts'

/** Most bytes of a JSON body, unpacked. NDJSON and CSV may have more. */
const MOST_JSON = 32 * 1024 * 1024
/** Records of a JSON body that are checked in a turn. */
const A_TURN = 500

const NDJSON = ['application/x-ndjson', 'application/ndjson']
const TYPES = ['application/json', ...NDJSON, 'text/csv']

/** Counts and hashes the bytes of a body as they arrive. */
export class ArrivalHash {
  bytes = 0
  readonly #hash = createHash('sha256')

  add(chunk: Buffer): void {
    this.bytes += chunk.length
    this.#hash.update(chunk)
  }

  /** SHA-256 of the bytes so far, hexadecimal. */
  sha256(): string {
    return this.#hash.copy().digest('hex')
  }
}

/** Makes a scope pass bodies on unread. */
export function takeUsage(app: FastifyInstance): void {
  watchConnections(app)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(TYPES, (_request, payload, done) => done(null, payload))
  // The rest of a refused body would precede the connection's next request, which would then wait for ever.
  app.addHook('onSend', async (request, reply) => {
    if (!request.raw.complete) reply.header('connection', 'close')
  })
}

/**
 * The records of a usage delivery, unchecked, in their order, some at a time.
 *
 * @param ignored gets the unknown fields, which are then passed over. Absent: they are kept, for the check to reject
 * @throws ServiceError `invalid_request` for a body that is not of its type, or whose sender has left
 * @throws ServiceError `unsupported_media_type` for an encoding other than gzip
 * @throws ServiceError `payload_too_large` for a body above its maximum size, or that unpacks to too much
 */
export function usageRecords(
  request: FastifyRequest,
  arrived: ArrivalHash,
  ignored?: IgnoredFields,
): AsyncGenerator<readonly unknown[]> {
  const type = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
  const isJson = !NDJSON.includes(type) && type !== 'text/csv'
  const bytes = bytesOf(request.body instanceof Readable ? request.body : Readable.from([]), {
    isPacked: isPacked(request, true),
    onArrival: (chunk) => arrived.add(chunk),
    left: leavingOf(request),
    ...(isJson && { most: { bytes: MOST_JSON, inPlace: 'NDJSON or CSV' } }),
  })
  if (type === 'text/csv') {
    return valuesOf(recordsOfTable(bytes, TABLE, ignored))
  }
  const values = isJson ? fromJson(bytes) : valuesOf(recordsOfLines(bytes))
  return ignored === undefined ? values : onlyKnown(values, ignored)
}

async function* onlyKnown(batches: AsyncGenerator<readonly unknown[]>, ignored: IgnoredFields) {
  for await (const values of batches) yield values.map((value) => ignored.without(value))
}

async function* fromJson(bytes: AsyncGenerator<Buffer>): AsyncGenerator<readonly unknown[]> {
  const records = recordsIn(await buffer(bytes))
  for (let from = 0; from < records.length; from += A_TURN) {
    await takeTurn()
    yield records.slice(from, from + A_TURN)
  }
}

function recordsIn(body: Buffer): readonly unknown[] {
  const value = jsonOf(body)
  if (typeof value !== 'object' || value === null || !('records' in value) || !Array.isArray(value.records)) {
    const detail = 'expected an object with an array of records'
    throw new ServiceError('invalid_request', `body: ${detail}`, { errors: [{ pointer: '/records', detail }] })
  }
  return value.records
}

const TABLE: Table = {
  fields: UsageRecord.properties,
  oneOf: ['iccid', 'simId'],
  mayIgnore: true,
}

async function* valuesOf(batches: AsyncGenerator<readonly FileRecord[]>): AsyncGenerator<readonly unknown[]> {
  for await (const records of batches) yield records.map(({ value }) => value)
}
