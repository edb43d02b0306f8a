/** Shared by both listeners: request ids, validation, problems, 404 and 405, metrics, routes without a body. */
import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import { Socket } from 'node:net'
import fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyRequest, LogController } from 'fastify'
import { ERRORS, ServiceError } from '../../domain/errors.ts'
import type { IpNetwork } from '../../domain/networks.ts'
import { hideSecrets } from '../../domain/quote.ts'
import type { Metrics } from '../../process/metrics.ts'
import { jsonOf, textOf } from './bodies.ts'
import { trusts } from './caller-address.ts'
import { useEtags } from './etag.ts'
import { asServiceError, sendProblem, useProblems } from './problems.ts'
import { logRequests } from './request-log.ts'
import { useResponseChecks, useValidation } from './validation.ts'

export interface AppOptions {
  readonly logger?: FastifyBaseLogger
  readonly metrics?: Metrics
  /** Aborted when the process begins to end: from then on each response closes its connection. */
  readonly ending?: AbortSignal
  /** Networks of the proxies with a trusted `X-Forwarded-For`. Default: none. */
  readonly trustedProxies?: readonly IpNetwork[]
  /** For tests: fails a response sent differently from its handler's value. */
  readonly checkAnswers?: boolean
  /** Longest time for a request to arrive, in milliseconds. Default: one minute. */
  readonly arrivalMs?: number
  /** The same for a path that takes files. Default: ten minutes. */
  readonly uploadMs?: number
  /** A client that takes no data of its response for so many milliseconds is disconnected. Default: two minutes. */
  readonly takingMs?: number
}

const ARRIVAL_MS = 60_000
const UPLOAD_MS = 600_000
/** Longer than a page of a long response takes, even with the slowest permitted statements. */
const TAKING_MS = 120_000
/** Fastify's default limit for a body. A route with a higher limit takes files. */
const BODY_BYTES = 1024 * 1024

export type App = FastifyInstance

/** A response has the type that it states, and no intermediary keeps it: it belongs to one key. */
const SAFE_HEADERS = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' }

/** A caller's request id is kept if it is harmless in a log and in the audit trail: a key is not. */
const isRequestId = (given: string): boolean => /^[\w.:/-]{1,128}$/.test(given) && hideSecrets(given) === given

export function buildApp(options: AppOptions): App {
  const { trustedProxies = [] } = options
  const app = fastify({
    ...(options.logger === undefined ? {} : { loggerInstance: options.logger }),
    genReqId: (request) => {
      const given = request.headers['x-request-id']
      return typeof given === 'string' && isRequestId(given) ? given : randomUUID()
    },
    ...(trustedProxies.length === 0 ? {} : { trustProxy: trusts(trustedProxies) }),
    routerOptions: { maxParamLength: 1000 },
    logController: new LogController({ disableRequestLogging: true }),
    // Requests that arrive on an open connection during shutdown get their response, not a refusal.
    return503OnClosing: false,
    requestTimeout: options.uploadMs ?? UPLOAD_MS,
    clientErrorHandler: refuseSocket,
    frameworkErrors: (error, request, reply) => {
      reply.header('x-request-id', request.id).headers(SAFE_HEADERS)
      sendProblem(request, reply, asServiceError(error))
    },
  })
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id).headers(SAFE_HEADERS)
    if (options.ending?.aborted) reply.header('connection', 'close')
  })
  logRequests(app)
  boundArrival(app, options.arrivalMs ?? ARRIVAL_MS)
  boundTaking(app, options.takingMs ?? TAKING_MS)
  useValidation(app)
  useProblems(app)
  useEtags(app)
  if (options.checkAnswers === true) useResponseChecks(app)
  const { metrics } = options
  if (metrics !== undefined) {
    app.addHook('onResponse', async (request, reply) => {
      const route = request.routeOptions.url ?? 'unknown'
      metrics.observe(request.method, route, reply.statusCode, reply.elapsedTime / 1000)
    })
  }
  acceptJson(app)
  return app
}

/** Ends the connection of a request whose body does not arrive in time. For files the server's longer limit holds. */
function boundArrival(app: FastifyInstance, ms: number): void {
  const timers = new WeakMap<FastifyRequest, NodeJS.Timeout>()
  app.addHook('onRequest', async (request) => {
    const { bodyLimit, config } = request.routeOptions
    if (bodyLimit > BODY_BYTES || config.streamed !== undefined) return
    const late = Object.assign(new Error('the body did not arrive'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
    timers.set(
      request,
      setTimeout(() => refuseSocket(late, request.raw.socket), ms),
    )
  })
  const arrived = async (request: FastifyRequest) => clearTimeout(timers.get(request))
  app.addHook('preValidation', arrived)
  app.addHook('onResponse', arrived)
  app.addHook('onRequestAbort', arrived)
}

/** Ends the connection of a client that takes nothing of its response in this time, until it has all of it. */
function boundTaking(app: FastifyInstance, ms: number): void {
  app.addHook('onSend', async ({ raw: { socket } }) => {
    // An injected request has no socket.
    if (socket instanceof Socket) socket.setTimeout(ms)
  })
}

/** Status and detail by code of Node's error. */
const SOCKET_FAULTS: Readonly<Record<string, readonly [number, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'The headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive in time: send it again.'],
}

/** Writes the problem for input that is not readable as HTTP, by hand: such input never becomes a request. */
function refuseSocket(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return
  const [status, detail] = SOCKET_FAULTS[error.code ?? ''] ?? [400, 'This is not an HTTP request.']
  const body = JSON.stringify({
    type: '/problems/invalid_request',
    title: ERRORS.invalid_request.title,
    status,
    detail,
    instance: '/',
    code: 'invalid_request',
    requestId: randomUUID(),
  })
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/problem+json; charset=utf-8\r\n` +
      `x-content-type-options: nosniff\r\ncache-control: no-store\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
}

/** Accepts JSON. An empty body, or white space alone, counts as no body; the schema decides whether that is valid. */
function acceptJson(app: FastifyInstance): void {
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, jsonOf(body)),
  )
  app.removeContentTypeParser('text/plain')
}

/** Makes the paths of a scope take no body: absent, empty, `{}` or `null`, of any type. Refuses others. */
export function takeNoBody(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    route.config = { ...route.config, bodiless: true }
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>('*', { parseAs: 'buffer' }, (_request, body, done) => {
    if (['', '{}', 'null'].includes(textOf(body).replaceAll(/[ \t\r\n]/g, ''))) done(null, undefined)
    else done(new ServiceError('invalid_request', 'This path takes no body: send none, or {}.'))
  })
}

/**
 * Watches the paths registered after this call. @returns a function to call after the last path: it refuses the other
 * methods of each path with 405 and `Allow`
 */
export function refuseOtherMethods(app: FastifyInstance): () => void {
  const known = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    const methods = known.get(url) ?? new Set()
    for (const one of [method].flat()) methods.add(one)
    known.set(url, methods)
  })
  return () => {
    for (const [url, methods] of known) {
      const allowed = [...methods].join(', ')
      app.route({
        url,
        method: app.supportedMethods.filter((method) => !methods.has(method)),
        schema: { hide: true },
        // Runs before the body is read: its type does not matter here.
        onRequest: async (request, reply) => {
          reply.header('allow', allowed)
          throw new ServiceError('method_not_allowed', `${request.method} is not for this path: it takes ${allowed}.`)
        },
        handler: async () => undefined,
      })
    }
  }
}
