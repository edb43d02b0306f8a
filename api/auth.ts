/**
 * Who calls: `Authorization: Bearer <key>`, or `X-API-Key`. A tenant's key acts for its tenant; an operator
 * key names the tenant with `X-Tenant-Id`, on either listener.
 */
import { timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ServiceError } from '../domain/errors.ts'
import { allows, PLATFORM, type Scope } from '../domain/tenant.ts'
import { hashSecret, parseKey } from '../operations/create-key.ts'
import { findKey, type StoredKey, touchKey } from '../store/keys.ts'
import { type Ground, inPlatform, type PlatformTx } from '../store/tenancy.ts'
import { tenantExists } from '../store/tenants.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The tenant the request acts for; empty where it acts for the platform. */
    tenantId: string
    /** Id of the key it came with. */
    keyId: string
    /** What its key may do. */
    keyScopes: readonly Scope[]
    /** The tenant its key is for; null: an operator key. */
    keyTenantId: string | null
  }
  interface FastifyContextConfig {
    /** Whom an operator key has to name: a tenant (default), a tenant or the platform, or nobody. */
    tenant?: 'required' | 'or-platform' | 'none'
    /** What the key must be allowed. Default: read for GET, else write. */
    scope?: Scope
  }
}

/**
 * Has every path of a scope ask for a key.
 *
 * @param listener on the internal one only operator keys are taken
 */
export function useKeys(app: FastifyInstance, ground: Ground, listener: 'public' | 'internal'): void {
  app.decorateRequest('tenantId', '')
  app.decorateRequest('keyId', '')
  app.decorateRequest('keyTenantId', null)
  app.decorateRequest('keyScopes')
  app.addHook('onRequest', async (request) => {
    const { scope, tenant = 'required' } = request.routeOptions.config
    const needed = scope ?? (['GET', 'HEAD'].includes(request.method) ? 'read' : 'write')
    const caller = await inPlatform(ground, async (tx) => {
      const key = await authenticate(tx, request)
      if (listener === 'internal' && key.tenantId !== null)
        throw forbidden('The internal interface takes operator keys only.')
      if (!allows(key.scopes, needed)) throw forbidden(`The key has no scope "${needed}".`)
      return { key, tenantId: await tenantOf(tx, request, key, tenant) }
    })
    request.tenantId = caller.tenantId
    request.keyId = caller.key.id
    request.keyScopes = caller.key.scopes
    request.keyTenantId = caller.key.tenantId
  })
}

const forbidden = (message: string) => new ServiceError('forbidden', message)

/** Last use is written at most once a minute. */
const TOUCH_MS = 60_000

async function authenticate(tx: PlatformTx, request: FastifyRequest): Promise<StoredKey> {
  const given = credential(request)
  if (given === undefined) {
    throw new ServiceError('unauthorized', 'Send an API key: Authorization: Bearer <key>, or X-API-Key.')
  }
  const parsed = parseKey(given)
  const key = parsed && (await findKey(tx, parsed.id))
  if (parsed === undefined || key === undefined || !timingSafeEqual(key.secretHash, hashSecret(parsed.secret))) {
    throw new ServiceError('unauthorized', 'There is no such API key.')
  }
  if (key.revokedAt !== null) throw new ServiceError('unauthorized', 'The API key was revoked.')
  if (key.expiresAt !== null && key.expiresAt <= tx.now)
    throw new ServiceError('unauthorized', 'The API key has expired.')
  if (key.lastUsedAt === null || tx.now.getTime() - key.lastUsedAt.getTime() > TOUCH_MS) await touchKey(tx, key.id)
  return key
}

function credential(request: FastifyRequest): string | undefined {
  const bearer = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1]
  const alias = request.headers['x-api-key']
  return bearer ?? (typeof alias === 'string' ? alias : undefined)
}

/** What concerns the platform is asked for by name, so that a header which was forgotten changes nothing for everybody. */
function mustName(got: string | undefined, needed: 'required' | 'or-platform'): ServiceError {
  const expected =
    needed === 'required' ? 'the id of a tenant' : `the id of a tenant, or ${PLATFORM} for the platform itself`
  const detail = got === undefined ? `is required with an operator key: ${expected}` : `is ${got}: must be ${expected}`
  return new ServiceError('invalid_request', `X-Tenant-Id ${detail}.`, {
    errors: [{ parameter: 'X-Tenant-Id', detail }],
  })
}

async function tenantOf(
  tx: PlatformTx,
  request: FastifyRequest,
  key: StoredKey,
  needed: 'required' | 'or-platform' | 'none',
): Promise<string> {
  const header = request.headers['x-tenant-id']
  const named = typeof header === 'string' && header !== '' ? header : undefined
  if (key.tenantId !== null) {
    if (named !== undefined && named !== key.tenantId)
      throw forbidden('The key is for another tenant than X-Tenant-Id.')
    return key.tenantId
  }
  if (needed === 'none') return ''
  if (named === PLATFORM && needed === 'or-platform') return ''
  if (named === undefined || named === PLATFORM) throw mustName(named, needed)
  if (!(await tenantExists(tx, named))) throw new ServiceError('tenant_not_found', `There is no tenant ${named}.`)
  return named
}
