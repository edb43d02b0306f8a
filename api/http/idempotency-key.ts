/** The header `Idempotency-Key`. */
import type { FastifyRequest } from 'fastify'
import { ServiceError } from '../../domain/errors.ts'

/** In quotes, as the header's draft says, or bare, as most clients send it. */
export const ONCE_KEY = /^(?:"[ !#-~]{1,255}"|[!#-~](?:[ !#-~]{0,253}[!#-~])?)$/

/**
 * The key of a request; undefined without the header.
 *
 * @throws ServiceError invalid_request for a malformed key
 */
export function keyOf(request: FastifyRequest): string | undefined {
  const header = request.headers['idempotency-key']
  if (header === undefined) return undefined
  if (typeof header === 'string' && ONCE_KEY.test(header)) return header.replaceAll('"', '')
  const detail = 'must be 1 to 255 printable characters'
  throw new ServiceError('invalid_request', `Idempotency-Key ${detail}`, {
    errors: [{ parameter: 'Idempotency-Key', detail }],
  })
}
