/**
 * Identifies the caller by `Authorization: Bearer <key>`, or `X-API-Key`. A tenant's key acts for its tenant. An
 * operator key names the tenant with `X-Tenant-Id`, on either listener.
 */

import { timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ServiceError } from '../../domain/errors.ts'
import { counted } from '../../domain/quantity.ts'
import { allows, type Opening, opensTo, PLATFORM, type Scope } from '../../domain/tenants/tenant.ts'
import { hashSecret, parseKey } from '../../service/tenants/create-key.ts'
import { type StoredKey, touchKey } from '../../service/tenants/rows/keys.ts'
import { inPlatform, type Store } from '../../store/tenancy.ts'
import { callerAddress } from '../http/caller-address.ts'
import type { Callers } from './callers.ts'
import { askEachTime, type KeyAnswer, type KeyCache } from './key-cache.ts'
import { countRefusals } from './refusals.ts'
import { knowWorkingKeys, READ_AGAIN_MS } from './working-keys.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The tenant the request acts for. Empty if it acts for the platform. */
    tenantId: string
    /** Id of the request's key. */
    keyId: string
    /** The permissions of the request's key. */
    keyScopes: readonly Scope[]
    /** The tenant of the request's key. Null for an operator key. */
    keyTenantId: string | null
    /** Public id of the session of the console that asks. Null for a request with a key. */
    askingSessionId: string | null
  }
  interface FastifyContextConfig {
    /** Subject that an operator key has to name: a tenant (default), a tenant or the platform, or none. */
    tenant?: 'required' | 'or-platform' | 'none'
    /** The scope that the key needs. Default: read for GET and HEAD, else write. */
    scope?: Scope
    /** Keys of a tenant that the path also takes, on either listener. Default: on the internal one, none. */
    isOpenTo?: Opening
    /** Whether the path takes a key. Set by `useKeys`. */
    takesKey?: true
  }
}

/** Refusals an address may meet in a minute. More than anyone causes by mistake, too few to cost anything. */
const REFUSALS = 60

export interface RefusalLimit {
  /** Refused keys a minute and address; 0: no limit. Default: 60. */
  readonly refusalLimit?: number
}

interface KeyOptions extends RefusalLimit {
  readonly store: Store
  /** Callers within this process, who send no key; left out: there are none. */
  readonly callers?: Callers
  /** Keys that the process knows; left out: the database is asked each time. */
  readonly keys?: KeyCache
  /** The internal listener takes keys of tenants only on paths that say so (`isOpenTo`). */
  readonly listener: 'public' | 'internal'
}

/**
 * Requires a key on every path of a scope. A credential without the form of a key is refused without a database query.
 * Beyond the limit of refusals, so is every request from that address, unless its key works. One that is unknown is
 * looked for once a second. A caller within this process acts with the rights of its key, as they are now.
 *
 * Refuses with `unauthorized`, `forbidden`, `rate_limited`, `invalid_request` (for `X-Tenant-Id`) or
 * `tenant_not_found`.
 */
export function useKeys(
  app: FastifyInstance,
  { store, refusalLimit = REFUSALS, listener, keys = askEachTime(store), callers }: KeyOptions,
): void {
  const refusals = countRefusals(refusalLimit, store.clock)
  const works = knowWorkingKeys(store)
  app.decorateRequest('tenantId', '')
  app.decorateRequest('keyId', '')
  app.decorateRequest('keyTenantId', null)
  app.decorateRequest('keyScopes')
  app.decorateRequest('askingSessionId', null)
  app.addHook('onRoute', (route) => {
    route.config = { ...route.config, takesKey: true }
  })
  /** The key that a request sends, with the tenant that it names. */
  const findSent = async (request: FastifyRequest, find: (keyId: string) => Promise<KeyAnswer>): Promise<KnownKey> => {
    const given = credential(request)
    const parsed = given === undefined ? undefined : parseKey(given)
    const address = callerAddress(request)
    const waitSeconds = refusals.waitSeconds(address)
    if (waitSeconds > 0 && (parsed === undefined || !(await works(parsed)))) {
      // The key may be new: then it works after the next read.
      throw tooManyRefused(address, parsed === undefined ? waitSeconds : READ_AGAIN_MS / 1000)
    }
    const takeBack = refusals.note(address)
    if (given === undefined) throw unauthorized('Send an API key: Authorization: Bearer <key>, or X-API-Key.')
    if (parsed === undefined) throw unauthorized(NO_SUCH_KEY)
    const found = await find(parsed.id).catch((error: unknown) => {
      takeBack()
      throw error
    })
    const key = authenticate(found.key, parsed.secret, new Date(store.clock()))
    takeBack()
    return { ...found, key }
  }
  app.addHook('onRequest', async (request) => {
    const { scope, tenant = 'required', isOpenTo } = request.routeOptions.config
    const needed = scope ?? (['GET', 'HEAD'].includes(request.method) ? 'read' : 'write')
    const named = namedTenant(request)
    const find = (keyId: string) => keys.find({ keyId, tenantId: named === PLATFORM ? undefined : named })
    const caller = callers?.getStore()
    const { key, hasTenant } =
      caller === undefined
        ? await findSent(request, find)
        : asWorking(await find(caller.keyId), new Date(store.clock()))
    const now = new Date(store.clock())
    if (listener === 'internal' && key.tenantId !== null && isOpenTo === undefined)
      throw forbidden('This path takes operator keys only.')
    const isAllowed = isOpenTo === undefined ? allows(key.scopes, needed) : opensTo(key.scopes, isOpenTo)
    if (!isAllowed) throw forbidden(`The key has no scope "${isOpenTo ?? needed}".`)
    request.tenantId = tenantOf(key, named, tenant, hasTenant)
    if (key.lastUsedAt === null || now.getTime() - key.lastUsedAt.getTime() > TOUCH_MS) {
      keys.noteUse(key.id, now)
      await inPlatform(store, (tx) => touchKey(tx, key.id))
    }
    request.keyId = key.id
    request.keyScopes =
      caller === undefined || caller.showsCodes === true ? key.scopes : key.scopes.filter((one) => one !== 'esim')
    request.keyTenantId = key.tenantId
    request.askingSessionId = caller?.sessionId ?? null
  })
}

const tooManyRefused = (address: string, retryAfter: number) =>
  new ServiceError(
    'rate_limited',
    `Too many requests from ${address} were refused for their key: go on in ${counted(retryAfter, 'second')}.`,
    { retryAfter },
  )
const forbidden = (message: string) => new ServiceError('forbidden', message)
const unauthorized = (message: string) => new ServiceError('unauthorized', message)

/** The last use of a key is written at most once a minute. */
const TOUCH_MS = 60_000

const NO_SUCH_KEY = 'There is no such API key.'

/** @returns the key, if the secret is its own and it works now @throws ServiceError `unauthorized` */
export function authenticate(key: StoredKey | undefined, secret: string | undefined, now: Date): StoredKey {
  if (key === undefined || secret === undefined || !timingSafeEqual(key.secretHash, hashSecret(secret)))
    throw unauthorized(NO_SUCH_KEY)
  return mustWork(key, now)
}

/** A key that is neither revoked nor expired. @throws ServiceError `unauthorized` */
function mustWork(key: StoredKey, now: Date): StoredKey {
  if (key.revokedAt !== null) throw unauthorized('The API key was revoked.')
  if (key.expiresAt !== null && key.expiresAt <= now) throw unauthorized('The API key has expired.')
  return key
}

/** A key that works, and whether there is the tenant that the request names. */
interface KnownKey extends KeyAnswer {
  readonly key: StoredKey
}

function asWorking(found: KeyAnswer, now: Date): KnownKey {
  if (found.key === undefined) throw unauthorized(NO_SUCH_KEY)
  return { ...found, key: mustWork(found.key, now) }
}

function credential(request: FastifyRequest): string | undefined {
  const bearer = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1]
  const alias = request.headers['x-api-key']
  return bearer ?? (typeof alias === 'string' ? alias : undefined)
}

/** The error for a missing or wrong `X-Tenant-Id`. A forgotten header never changes something for all tenants. */
function mustName(got: string | undefined, needed: 'required' | 'or-platform'): ServiceError {
  const expected =
    needed === 'required' ? 'the id of a tenant' : `the id of a tenant, or ${PLATFORM} for the platform itself`
  const detail = got === undefined ? `is required with an operator key: ${expected}` : `is ${got}: must be ${expected}`
  return new ServiceError('invalid_request', `X-Tenant-Id ${detail}.`, {
    errors: [{ parameter: 'X-Tenant-Id', detail }],
  })
}

/** The value of `X-Tenant-Id`; undefined without one. */
function namedTenant(request: FastifyRequest): string | undefined {
  const header = request.headers['x-tenant-id']
  return typeof header === 'string' && header !== '' ? header : undefined
}

function tenantOf(
  key: StoredKey,
  named: string | undefined,
  needed: 'required' | 'or-platform' | 'none',
  exists: boolean,
): string {
  if (key.tenantId !== null) {
    if (named !== undefined && named !== key.tenantId)
      throw forbidden('The key is for another tenant than X-Tenant-Id.')
    return key.tenantId
  }
  if (needed === 'none') return ''
  if (named === PLATFORM && needed === 'or-platform') return ''
  if (named === undefined || named === PLATFORM) throw mustName(named, needed)
  if (!exists) throw new ServiceError('tenant_not_found', `There is no tenant ${named}.`)
  return named
}
