/** The service's REST interfaces as clients with the types of their OpenAPI documents. */
import createClient, { type Client } from 'openapi-fetch'
import type { paths as InternalPaths } from './internal.d.ts'
import type { paths as PublicPaths } from './public.d.ts'

export type PublicClient = Client<PublicPaths>
export type InternalClient = Client<InternalPaths>

export interface ClientOptions {
  /** One listener, without a trailing slash. */
  readonly baseUrl: string
  readonly headers: Readonly<Record<string, string>>
  /** Sends a request: an activity's ends with the activity, a command's is patient. */
  readonly fetch: (request: Request) => Promise<Response>
}

/** The public listener. Clients hold no connection of their own. */
export const publicClient = (options: ClientOptions): PublicClient => createClient<PublicPaths>(options)

/** The internal listener. */
export const internalClient = (options: ClientOptions): InternalClient => createClient<InternalPaths>(options)

/** Parameters of a POST that may be sent more than once. */
export const idempotent = (key: string) => ({ header: { 'Idempotency-Key': key } })

/** A response with its body. */
export interface FetchResult<T> {
  readonly data?: T
  readonly error?: unknown
  readonly response: Response
}

/**
 * The body of a successful response.
 *
 * @param failure makes what is thrown of any other
 */
export async function bodyOf<T>(
  request: Promise<FetchResult<T>>,
  failure: (response: Response, problem: unknown) => Error,
): Promise<T> {
  const { data, error, response } = await request
  if (response.ok && data !== undefined) return data
  throw failure(response, error)
}
