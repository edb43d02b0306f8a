/** The failures that an operation can respond with: by its kind, and by what its route declares. */
import type { FastifyContextConfig } from 'fastify'
import type { TSchema } from 'typebox'
import { ERROR_CODES, ERRORS, type ErrorCode } from '../../domain/errors.ts'
import type { JsonObject } from './json.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Codes that this route can respond with, besides those of every route of its kind. */
    problems?: readonly ErrorCode[]
    /** False for a POST that takes no `Idempotency-Key`, because a repetition has no further effect. */
    idempotent?: boolean
    /** For a GET that responds with an `ETag`, or a change that honours `If-Match`. */
    versioned?: boolean
    /** Takes no body: absent, empty, `{}` or `null`. */
    bodiless?: boolean
    /** The JSON body of a route that reads it as a stream, so that no schema validates it. */
    streamed?: TSchema
    /** Checks of the route beyond its schemas: JSON Schema that the document adds to the body's or a parameter's. */
    also?: {
      readonly body?: JsonObject
      /** The body is required, though each of its fields is optional. */
      readonly needed?: true
      readonly parameters?: Readonly<Record<string, JsonObject>>
    }
    /** Example files that the route takes instead of JSON, by content type. */
    files?: Readonly<Record<string, string>>
  }
}

/** A route's declaration of its operation. */
export interface Declaration extends FastifyContextConfig {
  /** Whether requests count towards the rate limit of their key. */
  readonly limited: boolean
}

const isChange = (method: string) => !['get', 'head'].includes(method)

/** Whether the operation takes an `Idempotency-Key`. */
export const takesIdempotencyKey = (method: string, { idempotent }: Declaration) =>
  method === 'post' && idempotent !== false

/** Every problem code that an operation with a key can respond with. */
export function codesOf(method: string, path: string, declared: Declaration): ErrorCode[] {
  const { problems = [], versioned = false, tenant } = declared
  const codes: readonly (ErrorCode | false)[] = [
    'invalid_request',
    'unauthorized',
    'forbidden',
    // For a path segment longer than any id.
    path.includes('{') && 'not_found',
    tenant !== 'none' && 'tenant_not_found',
    ...problems,
    takesIdempotencyKey(method, declared) && 'idempotency_in_progress',
    isChange(method) && versioned && 'precondition_failed',
    isChange(method) && 'payload_too_large',
    isChange(method) && 'unsupported_media_type',
    takesIdempotencyKey(method, declared) && 'idempotency_key_reused',
    'rate_limited',
    tenant !== 'none' && 'quota_exceeded',
    'internal_error',
    'unavailable',
  ]
  return [...new Set(codes.filter((code) => code !== false))]
}

/** Statuses whose response is the same for every operation. Each has one place in the document. */
const SHARED: Readonly<Record<number, string>> = {
  400: 'InvalidRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  412: 'PreconditionFailed',
  413: 'PayloadTooLarge',
  415: 'UnsupportedMediaType',
  429: 'RateLimited',
  500: 'InternalError',
  503: 'Unavailable',
}

/** References to headers. */
export const headers = (...names: readonly string[]): JsonObject =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

/** Headers of the rate limit, for routes that have one. */
export const LIMIT_HEADERS = headers('ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset')
const HEADERS_OF: Readonly<Record<number, JsonObject>> = {
  401: headers('WWW-Authenticate'),
  409: headers('Retry-After'),
  415: headers('Accept', 'Accept-Encoding'),
  429: { ...headers('Retry-After'), ...LIMIT_HEADERS },
  503: headers('Retry-After'),
}

function problemResponse(status: number, codes: readonly ErrorCode[]): JsonObject {
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].title}.`).join('\n\n'),
    'x-codes': [...codes],
    headers: { ...headers('X-Request-Id'), ...HEADERS_OF[status] },
    content: {
      'application/problem+json': {
        schema: { $ref: '#/components/schemas/Problem' },
        examples: Object.fromEntries(codes.map((code) => [code, { value: exampleOfProblem(code) }])),
      },
    },
  }
}

const exampleOfProblem = (code: ErrorCode): JsonObject => ({
  type: `/problems/${code}`,
  title: ERRORS[code].title,
  status: ERRORS[code].status,
  detail: ERRORS[code].remedy,
  instance: '/api/pools/1',
  code,
  requestId: '5c2f0b1e-0d0f-4c53-9d0e-3d1b6c6d9a10',
})

/** The responses for these codes, by status. */
export function problemResponses(codes: readonly ErrorCode[]): JsonObject {
  const statuses = [...new Set(codes.map((code) => ERRORS[code].status))].sort((a, b) => a - b)
  return Object.fromEntries(
    statuses.map((status) => {
      const shared = SHARED[status]
      const own = codes.filter((code) => ERRORS[code].status === status)
      return [
        status,
        shared === undefined ? problemResponse(status, own) : { $ref: `#/components/responses/${shared}` },
      ]
    }),
  )
}

/** The responses that operations refer to. Each lists every code of its status. */
export function sharedResponses(): JsonObject {
  return Object.fromEntries(
    Object.entries(SHARED).flatMap(([status, name]) => {
      const codes = ERROR_CODES.filter((code) => ERRORS[code].status === Number(status))
      return codes.length === 0 ? [] : [[name, problemResponse(Number(status), codes)]]
    }),
  )
}
