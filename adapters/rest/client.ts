/** Clients of the service's REST interfaces, with the types of their OpenAPI documents. */
import createClient, { type Client } from 'openapi-fetch'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import type { paths as InternalPaths } from './internal.d.ts'
import type { paths as PublicPaths } from './public.d.ts'

export type PublicClient = Client<PublicPaths>
export type InternalClient = Client<InternalPaths>

export interface ClientOptions {
  /** A listener's address, without a trailing slash. */
  readonly baseUrl: string
  readonly headers: Readonly<Record<string, string>>
  /** Sends a request. An activity's request ends with the activity; a command's request is repeated. */
  readonly fetch: (request: Request) => Promise<Response>
}

/** A client of the public listener. Clients hold no separate connections. */
export const publicClient = (options: ClientOptions): PublicClient => createClient<PublicPaths>(options)

export const internalClient = (options: ClientOptions): InternalClient => createClient<InternalPaths>(options)

/** Parameters of a POST that may be sent more than once. @param key default: a new one */
export const idempotent = (key: string = crypto.randomUUID()) => ({ header: { 'Idempotency-Key': key } })

export interface FetchResult<T> {
  readonly data?: T
  readonly error?: unknown
  readonly response: Response
}

/** The body of a successful response. @param failure makes the error for any other response */
export async function bodyOrThrow<T>(
  request: Promise<FetchResult<T>>,
  failure: (response: Response, problem: unknown) => Error,
): Promise<T> {
  const { data, error, response } = await request
  if (response.ok && data !== undefined) return data
  throw failure(response, error)
}

/** A text field of the problem in a failed response; empty if it has none. Source: RFC 9457; `code` is our own. */
export function textIn(problem: unknown, name: 'code' | 'title' | 'detail'): string {
  const value: unknown = typeof problem === 'object' && problem !== null ? Reflect.get(problem, name) : undefined
  return typeof value === 'string' ? value : ''
}

/** The target of a link in the header `Link` of a response; undefined without one. Source: RFC 8288. */
export const linkIn = ({ headers }: Response, rel: 'history' | 'next'): string | undefined =>
  new RegExp(`<([^>]*)>; rel="${rel}"`).exec(headers.get('link') ?? '')?.[1]

const Faults = Type.Object({
  errors: Type.Array(
    Type.Object({
      pointer: Type.Optional(Type.String()),
      parameter: Type.Optional(Type.String()),
      detail: Type.String(),
    }),
  ),
})

/** The wrong fields that a problem names, one line each. @param said a text; fields that it explains are left out */
export const faultsOf = (problem: unknown, said = ''): string[] =>
  Value.Check(Faults, problem)
    ? problem.errors
        .filter(({ detail }) => said === '' || !said.includes(detail))
        .map(({ pointer, parameter, detail }) => `${pointer ?? parameter ?? ''}: ${detail}`)
    : []
