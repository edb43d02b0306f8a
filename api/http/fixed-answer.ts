/**
 * Responses that never change while the process runs, such as the script of the page at `/docs`. They are made and compressed
 * at their first request, and callers may keep them.
 */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { namesTag } from './etag.ts'

/** Seconds until a cache asks again: a newer release may send another text. */
const MAX_AGE = 300
/** Quality 5 of 0 to 11. The highest takes thirty times as long, 20 s for the script, for a seventh less. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }

const packBrotli = promisify(brotliCompress)
const packGzip = promisify(gzip)

/** Makes a value at the first call and keeps it. Later calls get the same promise; a failure is tried again. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined
      throw error
    })
    return made
  }
}

/**
 * Makes a handler: 200 with the result of `make`, called once, in a coding that the caller accepts; or 304 if the caller
 * has it already.
 *
 * @param cacheControl how long callers keep it; left out: a few minutes
 */
export function serveFixed(
  type: string,
  make: () => string | Buffer | Promise<string>,
  cacheControl = `public, max-age=${MAX_AGE}`,
) {
  const plain = once(async () => {
    const made = await make()
    const bytes = typeof made === 'string' ? Buffer.from(made) : made
    return { bytes, digest: createHash('sha256').update(bytes).digest('base64url').slice(0, 16) }
  })
  const bodies = {
    br: once(async () => packBrotli((await plain()).bytes, BROTLI)),
    gzip: once(async () => packGzip((await plain()).bytes)),
    identity: async () => (await plain()).bytes,
  }
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const coding = codingFor(request.headers['accept-encoding'])
    const etag = `"${(await plain()).digest}-${coding}"`
    reply.headers({ etag, vary: 'accept-encoding', 'cache-control': cacheControl })
    if (namesTag(request.headers['if-none-match'], etag)) return reply.code(304).send()
    if (coding !== 'identity') reply.header('content-encoding', coding)
    return reply.type(type).send(await bodies[coding]())
  }
}

/** The coding to send, by `Accept-Encoding` (RFC 9110, section 12.5.3). */
function codingFor(header = ''): 'br' | 'gzip' | 'identity' {
  const weights = new Map<string, number>()
  for (const part of header.toLowerCase().split(',')) {
    const [, name = '', weight = '1'] = /^\s*([^\s;]+)\s*(?:;\s*q=([\d.]+)\s*)?$/.exec(part) ?? []
    weights.set(name, Number(weight))
  }
  const weightOf = (coding: string) => weights.get(coding) ?? weights.get('*') ?? 0
  const [best, next] = ['br', 'gzip'] as const
  if (weightOf(best) > 0 && weightOf(best) >= weightOf(next)) return best
  return weightOf(next) > 0 ? next : 'identity'
}
