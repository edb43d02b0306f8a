/**
 * Routes as values: words, schemas, and the work on a request. The work gets its transaction here, with the caller for
 * the audit trail. A POST is idempotent by `Idempotency-Key`; a resource has an ETag, or is compared with `If-Match`.
 */
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import type { Static, TSchema } from 'typebox'
import type { WalkedList } from '../../domain/cursor.ts'
import {
  inPlatform,
  inTenant,
  type PlatformTx,
  readOnly,
  type Store,
  type TenantTx,
  withLongTimeout,
} from '../../store/tenancy.ts'
import { type Resource, versionOf } from '../../store/versions.ts'
import type { InternalOptions, RouteOptions } from '../options.ts'
import { answersVersion, mustBeAsSeen } from './etag.ts'
import { idempotentInPlatform, idempotentInTenant } from './idempotency.ts'
import { whileThere } from './left.ts'
import { linked, takesCursor, type WalkPage } from './links.ts'
import { onBehalfOf } from './on-behalf-of.ts'

/** Adds a route to a listener with these options. */
export type Route<Options> = (app: FastifyInstance, options: Options) => Promise<void>

/** Settings of a route, or of all routes of a resource. */
interface Settings extends FastifyContextConfig {
  /** The statements read a whole estate, and may take minutes. */
  slow?: boolean
}

type Work<Tx, Request, Context, Answer> = (tx: Tx, request: Request, context: Context) => Promise<Answer>

/** One kind of work; or one for a tenant and one for the platform. */
interface Works<Request, Context, Answer> {
  /** Reads, in a read-only transaction. */
  readonly read?: Work<TenantTx, Request, Context, Answer>
  /** Reads a part of the list that `cursor` names. */
  readonly walk?: Work<TenantTx, Request, Context, Answer & WalkPage>
  readonly change?: Work<TenantTx, Request, Context, Answer>
  readonly readPlatform?: Work<PlatformTx, Request, Context, Answer>
  readonly changePlatform?: Work<PlatformTx, Request, Context, Answer>
  /** Other work: opens its transactions itself, or needs none. */
  readonly handle?: (request: Request, context: Context) => Promise<Answer | FastifyReply>
  /** The resource with the ETag, or that `If-Match` is about. */
  readonly resource?: (request: Request) => Resource
  /** The long part of a change, in separate transactions, safe to run twice. */
  readonly prepare?: (request: Request, context: Context) => Promise<void>
  /** The response holds a secret: it is sent once. */
  readonly secret?: true
  /** Runs after the work, even if that failed, and before the response. */
  readonly after?: (request: Request, context: Context) => void
}

type StaticOf<T> = T extends TSchema ? Static<T> : never
type RequestOf<P extends TSchema, Q extends TSchema, B extends TSchema> = FastifyRequest<{
  Params: Static<P>
  Querystring: Static<Q>
  Body: Static<B>
}>

interface Declaration<P extends TSchema, Q extends TSchema, B extends TSchema, R, Context>
  extends Settings,
    Works<RequestOf<P, Q, B>, Context, { [S in keyof R]: StaticOf<R[S]> }[keyof R]> {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly params?: P
  readonly query?: Q
  readonly body?: B
  /** By status. A single one is the status of every success. */
  readonly response: R
  readonly consumes?: string[]
  readonly produces?: string[]
  /** Sets how bodies are read. Default: as JSON. */
  readonly bodies?: (scope: FastifyInstance) => void
  readonly bodyLimit?: number
  readonly preValidation?: (request: RequestOf<P, Q, B>) => Promise<void>
  /** The list that cursors lead through. */
  readonly cursor?: WalkedList
}

interface Context {
  readonly store: Store
  readonly reply: FastifyReply
}

/** The resource that the id in the path names. */
export const byId =
  (kind: 'pool' | 'sim' | 'tariff') =>
  ({ params: { id } }: { readonly params: { readonly id: number } }): Resource => ({ kind, id })

const JSON_ONLY = ['application/json']

/** Declares the routes of a resource. @param tag in the OpenAPI document @param common settings of each of them */
const declareRoutes =
  <Options extends RouteOptions>(tag: string, common: Settings = {}) =>
  <P extends TSchema, Q extends TSchema, B extends TSchema, R extends Readonly<Record<number, TSchema>>>(
    method: HTTPMethods,
    url: string,
    declaration: Declaration<P, Q, B, R, Options & Context>,
  ): Route<Options> =>
  async (app, options) => {
    const { operationId, summary, description = '', params, query, body, response } = declaration
    const { consumes = JSON_ONLY, produces = JSON_ONLY, bodies, bodyLimit, preValidation, cursor } = declaration
    const config = { ...common, ...declaration, ...(declaration.resource && { versioned: true }) }
    const inputs = { ...(params && { params }), ...(query && { querystring: query }), ...(body && { body }) }
    const words = { operationId, summary, description, tags: [tag], consumes, produces }
    const [status, ...others] = Object.keys(response).map(Number)
    const isOnce = method === 'POST' && config.idempotent !== false
    const register = async (scope: FastifyInstance) => {
      bodies?.(scope)
      scope.route<{ Params: Static<P>; Querystring: Static<Q>; Body: Static<B> }>({
        method,
        url,
        config,
        ...(bodyLimit !== undefined && { bodyLimit }),
        schema: { ...words, ...inputs, response },
        preValidation: [cursor === undefined ? [] : takesCursor(cursor), preValidation ?? []].flat(),
        handler: async (request, reply) => {
          const store = config.slow === true ? withLongTimeout(options.store) : options.store
          const context = { ...options, store, reply }
          if (status !== undefined && others.length === 0) reply.code(status)
          try {
            return await answer(declaration, request, context, isOnce)
          } finally {
            declaration.after?.(request, context)
          }
        },
      })
    }
    await (bodies === undefined ? register(app) : app.register(register))
  }

export const publicRoutes = declareRoutes<RouteOptions>
export const internalRoutes = declareRoutes<InternalOptions>

/** Does the work of a route. @param isOnce whether `Idempotency-Key` keeps the response */
async function answer<Request extends FastifyRequest, C extends Context, Answer>(
  works: Works<Request, C, Answer>,
  request: Request,
  context: C,
  isOnce: boolean,
): Promise<unknown> {
  const { read, walk, change, readPlatform, changePlatform, handle, resource, prepare, secret } = works
  const { store, reply } = context
  const { tenantId } = request
  const seen = resource?.(request)
  const options = { secret, ...(prepare && { prepare: () => prepare(request, context) }) }
  const isOfPlatform = tenantId === '' || (read ?? walk ?? change) === undefined
  if (isOfPlatform && readPlatform !== undefined) {
    return inPlatform(readOnly(store), (tx) => readPlatform(tx, request, context))
  }
  if (isOfPlatform && changePlatform !== undefined) {
    const work = (tx: PlatformTx) => changePlatform(tx, request, context)
    if (isOnce) return idempotentInPlatform(store, { request, reply }, work, options)
    return inPlatform(onBehalfOf(store, request), work)
  }
  if (read !== undefined) {
    return inTenant(readOnly(store), tenantId, async (tx) => {
      if (seen !== undefined) answersVersion(reply, await versionOf(tx, seen))
      return read(tx, request, context)
    })
  }
  if (walk !== undefined) {
    return linked(request, reply, await inTenant(readOnly(store), tenantId, (tx) => walk(tx, request, context)))
  }
  if (change !== undefined) {
    const work = async (tx: TenantTx) => {
      if (seen !== undefined) await mustBeAsSeen(tx, request, seen)
      return change(tx, request, context)
    }
    const there = whileThere(store, request)
    if (isOnce) return idempotentInTenant(there, { request, reply }, work, options)
    return inTenant(onBehalfOf(there, request), tenantId, work)
  }
  if (handle !== undefined) return handle(request, context)
  throw new Error(`${request.method} ${request.url} has no work`)
}
