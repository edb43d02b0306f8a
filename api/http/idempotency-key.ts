/** The header `Idempotency-Key`. */
import type { FastifyRequest } from 'fastify'
import { ServiceError } from '../../domain/errors.ts'
import { IDEMPOTENCY_KEY } from '../../domain/http.ts'

/**
 * The key of a request; undefined without the header.
 *
 * @throws ServiceError invalid_request for a malformed key
 */
export function keyOf(request: FastifyRequest): string | undefined {
  const header = request.headers['idempotency-key']
  if (header === undefined) return undefined
  if (typeof header === 'string' && IDEMPOTENCY_KEY.test(header)) return header.replaceAll('"', '')
  const detail = 'must be 1 to 255 printable characters'
  throw new ServiceError('invalid_request', `Idempotency-Key ${detail}`, {
    errors: [{ parameter: 'Idempotency-Key', detail }],
  })
}
