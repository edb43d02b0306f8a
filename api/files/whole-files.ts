/** Files that make the body of a request: each is read whole, in turns with others. */
import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ServiceError } from '../../domain/errors.ts'
import { MOST_SIMS } from '../../domain/tickets/bulk.ts'
import { isPacked } from '../http/content-encoding.ts'
import { leavingOf, watchConnections } from '../http/left.ts'
import { partsOf } from './reading-turns.ts'

/** Reads UTF-8. @returns the body of the request */
type Read = (parts: AsyncGenerator<Buffer>, request: FastifyRequest) => Promise<unknown>

/** Makes a scope accept files. @param readers by content type */
export function takeFiles(app: FastifyInstance, readers: Readonly<Record<string, Read>>): void {
  watchConnections(app)
  for (const [type, read] of Object.entries(readers)) {
    app.addContentTypeParser<Buffer>(type, { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
      isPacked(request)
      mustBeUtf8(body)
      return read(partsOf(body, leavingOf(request)), request)
    })
  }
}

/**
 * What is read of a file, one by one.
 *
 * @param batches one item a SIM; of a CSV one more, its line of columns
 * @throws ServiceError invalid_request for more SIMs than any request takes: the rest is not read
 */
export async function* upToMost<T>(batches: AsyncGenerator<readonly T[]>): AsyncGenerator<T> {
  let count = 0
  for await (const batch of batches) {
    count += batch.length
    if (count > MOST_SIMS + 1) {
      throw new ServiceError('invalid_request', `The file has more than ${MOST_SIMS} SIMs: send it in parts.`)
    }
    yield* batch
  }
}

const NEXT = 'save it as UTF-8 (in Excel: "CSV UTF-8") and send it again'

/** @throws ServiceError invalid_request with the first line that is not UTF-8 */
function mustBeUtf8(body: Buffer): void {
  const utf16 = /^(?:\xFF\xFE|\xFE\xFF|[^\0]\0|\0[^\0])/.test(body.toString('latin1', 0, 4))
  if (utf16) throw new ServiceError('invalid_request', `The file is not UTF-8, it looks like UTF-16: ${NEXT}.`)
  if (isUtf8(body)) return
  let [line, from] = [1, 0]
  for (let end = body.indexOf('\n'); end >= 0 && isUtf8(body.subarray(from, end)); end = body.indexOf('\n', from)) {
    line += 1
    from = end + 1
  }
  throw new ServiceError('invalid_request', `The file is not UTF-8, line ${line} is the first that is not: ${NEXT}.`)
}
