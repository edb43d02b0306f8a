import type { FastifyRequest } from 'fastify'
import { ServiceError } from '../../domain/errors.ts'

/** The error for a body in a form that its path does not take. @param header the one that states the form */
export const unsupported = (header: 'Content-Type' | 'Content-Encoding', detail: string): ServiceError =>
  new ServiceError('unsupported_media_type', `${header}: ${detail}.`, { errors: [{ parameter: header, detail }] })

/**
 * Whether a body is packed with gzip, by its header. Codings are compared in any case, `x-gzip` is gzip, and `identity` is
 * no coding. Source: RFC 9110, 8.4.
 *
 * @param takesGzip whether it may be
 * @throws ServiceError unsupported_media_type for any other coding, and for several
 */
export function isPacked({ headers }: FastifyRequest, takesGzip = false): boolean {
  const got = headers['content-encoding'] ?? ''
  const codings = got
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity')
  if (codings.length === 0) return false
  if (takesGzip && codings.length === 1 && /^(x-)?gzip$/.test(codings[0] ?? '')) return true
  throw unsupported('Content-Encoding', `got '${got}', expected ${takesGzip ? 'gzip or none' : 'none'}`)
}
