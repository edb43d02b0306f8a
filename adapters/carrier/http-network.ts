/**
 * The carrier behind a bridge: a small HTTP server that an operator writes for their carrier.
 *
 *   POST {url}/operations   CarrierRequest → 200 {ticketId, effect: 'done' | 'already'}
 *                           4xx {code, detail}: never retry · 408, 425, 429, 5xx: retry, after Retry-After
 *                           401, 403: the secret is refused for every request; all wait until it is accepted
 *   GET  {url}/healthz      2xx if the carrier can take requests; sent without the secret
 *
 * The bridge must be idempotent: it acts once for each ticket id, and repeats its first response for a repeated id. The
 * code here relies on it. After a lost response, the request is sent again.
 */

import { withoutSlash } from '../../domain/http.ts'
import { credentialOf } from '../../domain/tickets/carrier-refusal.ts'
import { CarrierError, type Network } from './network.ts'
import { quoteBody, readBounded, readResponse } from './read-response.ts'

export interface BridgeOptions {
  /** URL of the bridge, http or https, with or without a path. */
  readonly url: string
  /** Sent as `Authorization: Bearer <secret>`. */
  readonly secret: string
  /** Time from the request to the last byte of the response, in milliseconds. */
  readonly timeoutMs: number
}

/** The carrier behind the bridge. @throws Error if the URL or the secret cannot be used */
export function httpNetwork({ url, secret, timeoutMs }: BridgeOptions): Network {
  const base = baseOf(url)
  if (!/^[\x21-\x7e]+$/.test(secret)) {
    throw new Error('the secret of the carrier must be visible ASCII characters without blanks: check CARRIER_SECRET')
  }

  let credential: string | undefined
  return {
    get credential() {
      credential ??= credentialOf(base, secret)
      return credential
    },
    perform: (request, options) =>
      askBridge(
        { url: `${base}/operations`, timeoutMs, outer: options?.signal },
        {
          method: 'POST',
          headers: {
            authorization: `Bearer ${secret}`,
            'content-type': 'application/json',
            accept: 'application/json',
          },
          body: JSON.stringify(request),
        },
        (response, text) => readResponse(request.ticketId, response, text),
      ),
    ping: (options) =>
      askBridge({ url: `${base}/healthz`, timeoutMs, outer: options?.signal }, {}, (response, text) => {
        if (response.ok) return
        throw new CarrierError(`The carrier is not well: ${response.status} with ${quoteBody(text)}`, {
          code: 'carrier_unavailable',
          retryable: true,
        })
      }),
  }
}

interface BridgeCall {
  readonly url: string
  readonly timeoutMs: number
  /** Ends the call earlier. */
  readonly outer: AbortSignal | undefined
}

async function askBridge<T>(
  { url, timeoutMs, outer }: BridgeCall,
  init: RequestInit,
  read: (response: Response, text: string) => T,
): Promise<T> {
  const timeout = AbortSignal.timeout(timeoutMs)
  const signal = outer === undefined ? timeout : AbortSignal.any([timeout, outer])
  try {
    // The secret is for this address only, so a redirect is not followed. It counts as a wrong response.
    const response = await fetch(url, { ...init, signal, redirect: 'manual' })
    return read(response, await readBounded(response))
  } catch (error) {
    if (error instanceof CarrierError) throw error
    if (timeout.aborted) throw unanswered(`The carrier did not answer within ${timeoutMs} ms`, error)
    if (outer?.aborted) throw unanswered('The carrier was not waited for any longer', error)
    throw new CarrierError(`The carrier cannot be reached: ${reasonOf(error)}`, {
      code: 'carrier_unreachable',
      retryable: true,
      cause: error,
    })
  }
}

function baseOf(url: string): string {
  const { protocol = '', username = '', password = '' } = URL.parse(url) ?? {}
  // fetch refuses an address with credentials, on every request and without naming the address.
  if ((protocol !== 'http:' && protocol !== 'https:') || username + password !== '') {
    throw new Error(
      'the address of the carrier must be http:// or https://, without user or password: check CARRIER_URL',
    )
  }
  return withoutSlash(url)
}

/** Error for a request without a response. The carrier may have acted nevertheless. */
const unanswered = (message: string, cause: unknown) =>
  new CarrierError(message, { code: 'carrier_timeout', retryable: true, cause })

/** The message of the innermost cause, because fetch reports only "fetch failed". */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? reasonOf(error.cause) : error.message || error.name
}
