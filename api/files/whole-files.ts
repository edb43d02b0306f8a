/** Files that make the body of a request: each is read whole, in turns with others. */
import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ServiceError } from '../../domain/errors.ts'
import { decode, otherFormatOf } from '../../domain/files/utf8.ts'
import { MOST_SIMS } from '../../domain/tickets/bulk.ts'
import { mustNotBePacked } from '../http/bodies.ts'
import { leavingOf, watchConnections } from '../http/left.ts'
import type { FileRecord } from './lines.ts'
import { partsOf } from './reading-turns.ts'

/** Reads UTF-8. @returns the body of the request */
type Read = (parts: AsyncGenerator<Buffer>, request: FastifyRequest) => Promise<unknown>

/** Makes a scope accept files. @param readers by content type */
export function takeFiles(app: FastifyInstance, readers: Readonly<Record<string, Read>>): void {
  watchConnections(app)
  for (const [type, read] of Object.entries(readers)) {
    app.addContentTypeParser<Buffer>(type, { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
      mustNotBePacked(body)
      mustBeUtf8(body)
      return read(partsOf(body, leavingOf(request)), request)
    })
  }
}

/**
 * The records of a file.
 *
 * @throws ServiceError invalid_request if there are none, or more than any request takes: the rest is not read
 */
export async function upToMost(batches: AsyncGenerator<readonly FileRecord[]>): Promise<FileRecord[]> {
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
