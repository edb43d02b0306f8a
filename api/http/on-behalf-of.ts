/** The caller of a change, for the audit trail. */
import type { FastifyRequest } from 'fastify'
import { ServiceError } from '../../domain/errors.ts'
import { IDEMPOTENCY_KEY } from '../../domain/http.ts'
import type { Caller, Store } from '../../store/tenancy.ts'

declare module 'fastify' {
  interface FastifySchema {
    operationId?: string
  }
}

/** The same store, with the sender of the request as its caller. */
export function onBehalfOf(store: Store, request: FastifyRequest): Store {
  const { method, url = '', schema } = request.routeOptions
  const idempotencyKey = keyOf(request)
  const caller: Caller = {
    actor: `key:${request.keyId}`,
    keyId: request.keyId,
    requestId: request.id,
    action: schema?.operationId ?? `${String(method)} ${url}`,
    workflowId: request.workflowId,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  }
  return { ...store, caller }
}

/** The `Idempotency-Key` of a request, if any. @throws ServiceError invalid_request for a malformed key */
export function keyOf(request: FastifyRequest): string | undefined {
  const header = request.headers['idempotency-key']
  if (header === undefined) return undefined
  if (typeof header === 'string' && IDEMPOTENCY_KEY.test(header)) return header.replaceAll('"', '')
  const detail = 'must be 1 to 255 printable characters'
  throw new ServiceError('invalid_request', `Idempotency-Key ${detail}`, {
    errors: [{ parameter: 'Idempotency-Key', detail }],
  })
}
