/**
 * Sends long responses page by page, at the client's speed. Memory is bounded for any number of items and of clients that
 * do not read (docs/decisions/0078-long-answers-are-streamed.md).
 */
import { once } from 'node:events'
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { ServiceError } from '../../domain/errors.ts'

/** Long answers that a key may have under way in a process. A client that does not read keeps 0.6 MB of each. */
export const MOST_UNDER_WAY = 100
/** Seconds after which a refused request may be sent again. */
const RETRY_AFTER = 5

/** By key. */
const underWay = new Map<string, number>()

/**
 * A body of these chunks, each made when the client has taken the ones before. It ends with the connection.
 *
 * Reads the first chunk before it resolves: a failure there can still become a problem response. After
 * that a failure ends the connection: the client sees that the answer is broken off.
 *
 * @throws ServiceError quota_exceeded if the key has {@link MOST_UNDER_WAY} others under way
 */
export async function streamed(reply: FastifyReply, chunks: AsyncGenerator<string, void>): Promise<Readable> {
  const { keyId, method } = reply.request
  const others = underWay.get(keyId) ?? 0
  if (others >= MOST_UNDER_WAY) {
    throw new ServiceError(
      'quota_exceeded',
      `This key has ${others} long answers under way, as many as it may: read them to their end, or close them.`,
      { retryAfter: RETRY_AFTER },
    )
  }
  underWay.set(keyId, others + 1)
  const body = Readable.from(chunks)
  body.once('close', () => {
    const left = (underWay.get(keyId) ?? 1) - 1
    if (left === 0) underWay.delete(keyId)
    else underWay.set(keyId, left)
  })
  await once(body, 'readable')
  // Fastify would read it to its end, and send nothing.
  if (method === 'HEAD') body.destroy()
  return body
}

async function* arrayOf<T>(pages: AsyncIterable<readonly T[]>): AsyncGenerator<string, void> {
  let separator = '['
  for await (const page of pages) {
    if (page.length === 0) continue
    yield separator + page.map((item) => JSON.stringify(item)).join(',')
    separator = ','
  }
  yield separator === '[' ? '[]' : ']'
}

/** Sends the items of all pages as one JSON array. @throws as {@link streamed} */
export async function sendArray<T>(reply: FastifyReply, pages: AsyncIterable<readonly T[]>): Promise<FastifyReply> {
  const body = await streamed(reply, arrayOf(pages))
  return reply.type('application/json; charset=utf-8').send(body)
}
