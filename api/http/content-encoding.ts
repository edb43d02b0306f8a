import type { FastifyRequest } from 'fastify'
import { ServiceError } from '../../domain/errors.ts'

/**
 * Whether a body is packed with gzip.
 *
 * @param takesGzip whether it may be
 * @throws ServiceError unsupported_media_type for any other encoding
 */
export function isPacked({ headers }: FastifyRequest, takesGzip = false): boolean {
  const got = headers['content-encoding']
  const encoding = got?.trim().toLowerCase()
  if (encoding === undefined || encoding === 'identity') return false
  if (encoding === 'gzip' && takesGzip) return true
  const expected = takesGzip ? 'gzip or none' : 'none'
  throw new ServiceError('unsupported_media_type', `Content-Encoding: got '${got}', expected ${expected}.`)
}
