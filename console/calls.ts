/** Asks the listeners of this process, without a socket, in the name of a session's key. */

import type { OutgoingHttpHeaders } from 'node:http'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import { type InternalClient, internalClient, type PublicClient, publicClient } from '../adapters/rest/client.ts'
import type { App } from '../api/http/app.ts'
import type { Callers, LocalCaller } from '../api/keys/callers.ts'

/** The listeners, and how to name a caller to them. */
export interface Doors {
  readonly outside: App
  readonly inside: App
  readonly callers: Callers
}

export interface Calls {
  readonly outside: PublicClient
  /** The same, for a page that shows activation codes: each answer with one is in the audit trail. */
  readonly showingCodes: () => PublicClient
  readonly inside: InternalClient
}

interface CallsOf extends LocalCaller {
  /** The tenant that the calls are about, or `@platform`. */
  readonly tenantId: string
  /** The calls have the id of the request that needs them. */
  readonly requestId: string
}

/** Clients use paths alone of it. */
const BASE_URL = 'http://simherd.invalid'
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
/** Responses that have no body (Fetch standard, null body status). */
const EMPTY: ReadonlySet<number> = new Set([204, 205, 304])

/** Clients of both listeners. Each call has the present rights of the key. */
export function callsOf(doors: Doors, of: CallsOf): Calls {
  const fetchFrom = (app: App) => (request: Request) => fetchBy(request, (sent) => injectAs(doors, of, app, sent))
  const common = { baseUrl: BASE_URL, headers: headersFor(of) }
  return {
    outside: publicClient({ ...common, fetch: fetchFrom(doors.outside) }),
    showingCodes: () => callsOf(doors, { ...of, showsCodes: true }).outside,
    inside: internalClient({ ...common, fetch: fetchFrom(doors.inside) }),
  }
}

/** A response of the internal interface while it is made: of a file that is too large to be held. */
export const streamInside = (doors: Doors, of: CallsOf, url: string): Promise<LightMyRequestResponse> =>
  injectAs(doors, of, doors.inside, { url, headers: headersFor(of), payloadAsStream: true })

const headersFor = ({ tenantId, requestId }: CallsOf) => ({ 'x-tenant-id': tenantId, 'x-request-id': requestId })

/** Sends a request in the context of the caller. It is awaited there: a request begins with the call of `then`. */
const injectAs = ({ callers }: Doors, { keyId, sessionId, showsCodes }: CallsOf, app: App, request: InjectOptions) =>
  callers.run({ keyId, sessionId, showsCodes }, async () => await app.inject(request))

async function fetchBy(
  request: Request,
  send: (request: InjectOptions) => Promise<LightMyRequestResponse>,
): Promise<Response> {
  const method = METHODS.find((one) => one === request.method)
  if (method === undefined) throw new Error(`${request.method} is none of ${METHODS.join(', ')}`)
  const { pathname, search } = new URL(request.url)
  const headers = Object.fromEntries(request.headers)
  const payload = await request.text()
  const answer = await send({ method, url: pathname + search, headers, ...(payload !== '' && { payload }) })
  const { statusCode: status } = answer
  return new Response(EMPTY.has(status) ? null : answer.body, { status, headers: headersOf(answer.headers) })
}

function headersOf(given: OutgoingHttpHeaders): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(given)) {
    for (const one of [value].flat()) if (one !== undefined) headers.append(name, String(one))
  }
  return headers
}
