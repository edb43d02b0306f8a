/**
 * Changes by PUT, PATCH and DELETE, each in one transaction on behalf of its caller. With `If-Match`, a change is made
 * only if the resource is still the one that the caller has seen.
 */
import type { FastifyRequest } from 'fastify'
import { ServiceError } from '../../domain/errors.ts'
import { type Caller, inTenant, type Store, type TenantTx } from '../../store/tenancy.ts'
import { lockVersion, type Resource } from '../../store/versions.ts'
import { versionsAsked } from './etag.ts'
import { keyOf } from './idempotency-key.ts'

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

/**
 * Changes data of a tenant.
 *
 * @param resource the resource that `If-Match` is about
 * @throws ServiceError precondition_failed
 */
export const changeInTenant = <T>(
  store: Store,
  request: FastifyRequest,
  work: (tx: TenantTx) => Promise<T>,
  resource?: Resource,
): Promise<T> =>
  inTenant(onBehalfOf(store, request), request.tenantId, async (tx) => {
    if (resource !== undefined) await mustBeAsSeen(tx, request, resource)
    return work(tx)
  })

/**
 * Locks a resource and compares its version with `If-Match`. If there is no such resource, the change itself reports
 * that.
 *
 * @throws ServiceError precondition_failed
 */
export async function mustBeAsSeen(tx: TenantTx, request: FastifyRequest, resource: Resource): Promise<void> {
  const asked = versionsAsked(request.headers['if-match'])
  if (asked === undefined || asked === 'any') return
  const version = await lockVersion(tx, resource)
  if (version === undefined || asked.includes(version)) return
  throw new ServiceError(
    'precondition_failed',
    `This ${resource.kind} has changed since: it is at version ${version} now, and If-Match asks for ${asked.join(' or ') || 'no version there is'}.`,
  )
}
