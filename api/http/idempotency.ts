/**
 * Changes by POST, each in one transaction. With an `Idempotency-Key`, the same transaction keeps the response. For 24
 * hours the same request gets the same response, and nothing is done again.
 */
import { createHash, randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ServiceError } from '../../domain/errors.ts'
import { RESPONSES_KEPT_MS } from '../../domain/http.ts'
import { keepResponse, keptResponse, lockIdempotencyKey } from '../../store/idempotency.ts'
import { continuing, inPlatform, inTenant, type PlatformTx, type Store, type TenantTx } from '../../store/tenancy.ts'
import { keyOf, onBehalfOf } from './on-behalf-of.ts'

interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}
interface Options {
  /** The response holds a secret. It is kept without its body, and a replay is refused. */
  readonly secret?: boolean | undefined
  /** The long part of the work, in separate transactions, safe to run twice. Left out if the key is known already. */
  readonly prepare?: () => Promise<void>
}
interface Outcome<T> {
  readonly status: number
  readonly body: T
  readonly replayed: boolean
}

/**
 * Makes a tenant's change, idempotent by the request's key.
 *
 * @returns the response's body; on a replay, the kept one
 * @throws ServiceError idempotency_in_progress, idempotency_key_reused, secret_already_shown
 */
export async function idempotentInTenant<T>(
  store: Store,
  exchange: Exchange,
  work: (tx: TenantTx) => Promise<T>,
  options: Options = {},
): Promise<T> {
  const { request } = exchange
  if (options.prepare !== undefined && !(await isKept(store, request))) await options.prepare()
  const outcome = await inTenant(onBehalfOf(store, request), request.tenantId, (tx) =>
    idempotent(tx, exchange, work, options),
  )
  return answer(exchange, outcome)
}

/** Whether a response to the request is kept. @throws ServiceError idempotency_in_progress, idempotency_key_reused */
async function isKept(store: Store, request: FastifyRequest): Promise<boolean> {
  const key = keyOf(request)
  if (key === undefined) return false
  const kept = await inTenant(onBehalfOf(store, request), request.tenantId, (tx) => keptFor(tx, request, key))
  return kept !== undefined
}

/** Makes a change of the platform, likewise. */
export async function idempotentInPlatform<T>(
  store: Store,
  exchange: Exchange,
  work: (tx: PlatformTx) => Promise<T>,
  options: Options = {},
): Promise<T> {
  const outcome = await inPlatform(onBehalfOf(store, exchange.request), (tx) => idempotent(tx, exchange, work, options))
  return answer(exchange, outcome)
}

/**
 * Makes a tenant's change through another system, which recognises a repeated request by its key. The response is kept
 * as in the functions above. So a key stands for one request here too, and a replay does not reach the other system.
 *
 * @param steps.before runs in a transaction before the other system is called; if it throws, nothing is called
 * @param steps.ask calls the other system; takes the key, or a random id for a request without a key
 * @throws ServiceError idempotency_in_progress, idempotency_key_reused
 */
export async function idempotentElsewhere<T>(
  store: Store,
  exchange: Exchange,
  steps: {
    readonly before: (tx: TenantTx, key: string) => Promise<void>
    readonly ask: (key: string) => Promise<T>
  },
): Promise<T> {
  const { request } = exchange
  const key = keyOf(request)
  const own = key ?? randomUUID()
  const kept = await inTenant(onBehalfOf(store, request), request.tenantId, async (tx) => {
    const found = key === undefined ? undefined : await keptFor<T>(tx, request, key)
    if (found === undefined) await steps.before(tx, own)
    return found
  })
  if (kept !== undefined) return answer(exchange, { ...kept, replayed: true })
  const body = await steps.ask(own)
  return idempotentInTenant(continuing(store), exchange, async () => body)
}

function answer<T>({ reply }: Exchange, { status, body, replayed }: Outcome<T>): T {
  reply.code(status)
  if (replayed) reply.header('idempotency-replayed', 'true')
  return body
}

async function idempotent<Tx extends TenantTx | PlatformTx, T>(
  tx: Tx,
  { request, reply: { statusCode: status } }: Exchange,
  work: (tx: Tx) => Promise<T>,
  { secret = false }: Options,
): Promise<Outcome<T>> {
  const key = keyOf(request)
  if (key === undefined) return { status, body: await work(tx), replayed: false }
  const kept = await keptFor<T>(tx, request, key)
  if (kept !== undefined) {
    if (secret) {
      throw new ServiceError(
        'secret_already_shown',
        'This was done, and its answer held a secret that is shown only once.',
      )
    }
    return { status: kept.status, body: kept.body, replayed: true }
  }
  const body = await work(tx)
  await keepResponse(tx, key, { fingerprint: fingerprintOf(request), status, body: secret ? null : body })
  return { status, body, replayed: false }
}

/**
 * The kept response to this request. Locks the key until the transaction ends.
 *
 * @returns undefined if there is none
 * @throws ServiceError idempotency_in_progress, idempotency_key_reused
 */
async function keptFor<T>(tx: TenantTx | PlatformTx, request: FastifyRequest, key: string) {
  if (!(await lockIdempotencyKey(tx, key))) {
    throw new ServiceError('idempotency_in_progress', 'The first request with this Idempotency-Key has not ended yet.')
  }
  const kept = await keptResponse<T>(tx, key, new Date(tx.now.getTime() - RESPONSES_KEPT_MS))
  if (kept === undefined || kept.fingerprint === fingerprintOf(request)) return kept
  throw new ServiceError('idempotency_key_reused', 'This Idempotency-Key stood for another request: take a new one.')
}

/** Refuses a malformed `Idempotency-Key` on every POST of a scope that takes one, even if it is not used. */
export function useIdempotencyKeys(app: FastifyInstance): void {
  app.addHook('preValidation', async (request) => {
    if (request.method === 'POST' && request.routeOptions.config.idempotent !== false) keyOf(request)
  })
}

function fingerprintOf(request: FastifyRequest): string {
  const what = JSON.stringify([request.method, request.url, request.tenantId, canonical(request.body)])
  return createHash('sha256').update(what).digest('hex')
}

/** Gives equal values for bodies that differ only in the order of their fields. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical)
  if (typeof value !== 'object' || value === null) return value ?? null
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return entries.map(([name, item]) => [name, canonical(item)])
}
