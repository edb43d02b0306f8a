/**
 * Reads a usage delivery as a stream of unchecked records: JSON, NDJSON or CSV, plain or gzipped. NDJSON and CSV take
 * bounded memory, however long they are. JSON is read whole, up to a maximum size.
 */

import { createHash } from 'node:crypto'
import { pipeline, Readable, Transform } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { parse } from 'csv-parse'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ServiceError } from '../../domain/errors.ts'
import { Unreadable, UsageRecord } from '../../domain/usage/usage-record.ts'
import { shapeFault, wrongShape } from '../http/json-shape.ts'
import { delimiterOfStream } from './delimiter.ts'
import { LINE_TOO_LONG, linesOf, measuredCsv } from './lines.ts'

/** Most bytes of a JSON body, uncompressed. */
const MOST_JSON = 32 * 1024 * 1024

const NDJSON = ['application/x-ndjson', 'application/ndjson']
const TYPES = ['application/json', ...NDJSON, 'text/csv']

/** Counts and hashes the bytes of a body as they arrive. */
export class Arrived {
  bytes = 0
  readonly #hash = createHash('sha256')

  measure(body: Readable): Readable {
    const measuring = new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        this.bytes += chunk.length
        this.#hash.update(chunk)
        done(null, chunk)
      },
    })
    // If either stream fails, the other ends too. The reader gets the error.
    return pipeline(body, measuring, () => undefined)
  }

  /** SHA-256 of the bytes so far, hexadecimal. */
  sha256(): string {
    return this.#hash.copy().digest('hex')
  }
}

/** Makes a scope pass bodies on unread. */
export function takeUsage(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(TYPES, (_request, payload, done) => done(null, payload))
  // The rest of a refused body would precede the connection's next request, which would then wait for ever.
  app.addHook('onSend', async (request, reply) => {
    if (!request.raw.complete) reply.header('connection', 'close')
  })
}

/** A request with a delivery. It may have no body. */
export type UsageRequest = FastifyRequest<{ Body: Readable | undefined }>

/**
 * The records of a usage delivery, unchecked, in their order.
 *
 * @throws ServiceError `invalid_request` for a body that is not of its type
 * @throws ServiceError `unsupported_media_type` for an encoding other than gzip
 * @throws ServiceError `payload_too_large` for JSON above its maximum size
 */
export function usageRecords(request: UsageRequest, arrived: Arrived): AsyncGenerator<unknown> {
  const type = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
  const body = unpacked(arrived.measure(request.body ?? Readable.from([])), request.headers['content-encoding'])
  if (NDJSON.includes(type)) return fromNdjson(body)
  return type === 'text/csv' ? fromCsv(body) : fromJson(body)
}

function unpacked(body: Readable, encoding: string | undefined): Readable {
  if (encoding === undefined || encoding === 'identity') return body
  if (encoding !== 'gzip') {
    throw new ServiceError('unsupported_media_type', `Content-Encoding: got '${encoding}', expected gzip or none.`)
  }
  const gunzip = createGunzip()
  body.on('error', (error) => gunzip.destroy(error))
  return body.pipe(gunzip)
}

const broken = (what: string, error: unknown) =>
  new ServiceError(
    'invalid_request',
    `The ${what} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    {
      cause: error,
    },
  )

async function* fromJson(body: Readable): AsyncGenerator<unknown> {
  let text = ''
  let bytes = 0
  try {
    body.setEncoding('utf8')
    for await (const part of body) {
      text += part
      bytes += Buffer.byteLength(part)
      if (bytes > MOST_JSON) {
        throw new ServiceError('payload_too_large', `A JSON body may have ${MOST_JSON} bytes; send NDJSON or CSV.`)
      }
    }
  } catch (error) {
    throw error instanceof ServiceError ? error : broken('body', error)
  }
  const fault = shapeFault(text)
  if (fault !== undefined) throw wrongShape(fault)
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (error) {
    throw broken('JSON', error)
  }
  if (typeof parsed !== 'object' || parsed === null || !('records' in parsed) || !Array.isArray(parsed.records)) {
    const detail = 'expected an object with an array of records'
    throw new ServiceError('invalid_request', `body: ${detail}`, { errors: [{ pointer: '/records', detail }] })
  }
  yield* parsed.records
}

async function* fromNdjson(body: Readable): AsyncGenerator<unknown> {
  try {
    for await (const line of linesOf(body)) {
      if (line === null) yield new Unreadable(`the line ${LINE_TOO_LONG}`)
      else if (line.trim() !== '') yield parsedLine(line)
    }
  } catch (error) {
    throw broken('body', error)
  }
}

/** Parses a line. The check of the records rejects a line that cannot be parsed. */
function parsedLine(line: string): unknown {
  const fault = shapeFault(line)
  if (fault !== undefined) return new Unreadable(`${fault.pointer} ${fault.detail}`.trim())
  try {
    return JSON.parse(line)
  } catch (error) {
    return new Unreadable(`is no JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
}

const COLUMNS = new Set(Object.keys(UsageRecord.properties))
const NUMBERS = new Set(['simId', 'bytesUp', 'bytesDown', 'voiceSeconds', 'smsCount'])

async function* fromCsv(body: Readable): AsyncGenerator<unknown> {
  try {
    const { delimiter, all } = await delimiterOfStream(measuredCsv(body))
    const rows = parse({
      columns: (header: string[]) => header.map(knownColumn),
      bom: true,
      delimiter,
      skip_empty_lines: true,
      trim: true,
      relax_column_count: true,
    })
    // If either stream fails, the other ends too. The reader below gets the error.
    pipeline(Readable.from(all), rows, () => undefined)
    for await (const row of rows) yield toRecord(row)
  } catch (error) {
    throw error instanceof ServiceError ? error : broken('CSV', error)
  }
}

function knownColumn(name: string): string {
  if (COLUMNS.has(name)) return name
  const detail = `got column '${name}', expected some of ${[...COLUMNS].join(', ')}`
  throw new ServiceError('invalid_request', `CSV: ${detail}`, { errors: [{ pointer: `/${name}`, detail }] })
}

/**
 * Makes a record of a row. An empty cell is no value. Text that is no number stays text, and the check of the records
 * rejects it.
 */
const toRecord = (row: Record<string, string>): unknown =>
  Object.fromEntries(
    Object.entries(row)
      .filter(([, cell]) => cell !== '')
      .map(([column, cell]) => [column, valueOf(column, cell)]),
  )

function valueOf(column: string, cell: string): unknown {
  if (NUMBERS.has(column) && /^-?\d+$/.test(cell)) return Number(cell)
  if (column === 'correction' && /^(true|false|1|0)$/i.test(cell)) return /^(true|1)$/i.test(cell)
  return cell
}
