/**
 * Sends webhooks: one POST each, signed by Standard Webhooks (https://www.standardwebhooks.com).
 *
 * A tenant names the URL, so it is not trusted. Each attempt resolves the name once, and connects to a checked address:
 * a second answer of the name server cannot differ. Redirects are not followed, and no connection is kept.
 */
import { createHmac } from 'node:crypto'
import { lookup as dnsLookup, type LookupAddress } from 'node:dns'
import http from 'node:http'
import https from 'node:https'
import type { LookupFunction } from 'node:net'
import type { Attempt, EndpointChannel, Outcome } from '../../../domain/channels/channel.ts'
import { hostOf, mayReach, whyNotUrl } from '../../../domain/channels/webhook.ts'
import { type IpNetwork, isAddress } from '../../../domain/networks.ts'

/** A signed request. */
export interface WebhookMessage {
  /** The header `webhook-id`: the same for each attempt. */
  readonly id: string
  /** Of the attempt, in seconds since 1970. */
  readonly timestamp: number
  readonly body: string
  /** There is a signature with each. */
  readonly secrets: readonly string[]
}

export interface WebhookChannelOptions {
  /** Epoch milliseconds. */
  readonly clock: () => number
  /** Longest time from the name's resolution to the last byte of the answer, in milliseconds. */
  readonly timeoutMs: number
  /** Networks that are not public, but permitted as targets; http is for these only. */
  readonly allow: readonly IpNetwork[]
  /** Resolves names. Default: as the operating system does. */
  readonly lookup?: typeof dnsLookup
  /** Certificates to trust, in PEM. Default: those of Node. */
  readonly ca?: string
}

/** Most of a response's body that is read. */
const MOST_BYTES = 65_536
/** Most of a response's body that is kept. */
const KEPT_CHARS = 500

/** The response of an attempt is the beginning of the answer's body, or why none came: plain words, without addresses. */
export const webhookChannel = (options: WebhookChannelOptions): EndpointChannel => ({
  render: ([event = '']) => event,
  send: (body, { url, secrets }, id) =>
    post(url, { id, body, secrets, timestamp: Math.floor(options.clock() / 1000) }, options).catch(
      (error: unknown): Attempt => {
        const why = wordsOf(error, options.timeoutMs)
        return { outcome: 'later', code: null, response: why, why }
      },
    ),
})

/** Of the 4xx, those that ask for patience. */
const NOT_NOW: ReadonlySet<number> = new Set([408, 425, 429])

const WHY: Partial<Record<Outcome, string>> = { delivered: '', gone: 'it answered 410 Gone' }

/** @param status HTTP status of the answer; null if none came */
export function httpOutcome(status: number | null): Outcome {
  if (status === null || status >= 500 || NOT_NOW.has(status)) return 'later'
  if (status >= 200 && status < 300) return 'delivered'
  return status === 410 ? 'gone' : 'refused'
}

/** The headers of a message: `webhook-id`, `webhook-timestamp`, `webhook-signature`. */
export function signedHeaders({ id, timestamp, body, secrets }: WebhookMessage): Record<string, string> {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signatures.join(' ') }
}

/** No request was sent. The message is for the tenant. */
class Refusal extends Error {}
const notPublic = () => new Refusal('its address is not one of the public internet')

async function post(url: string, message: WebhookMessage, options: WebhookChannelOptions): Promise<Attempt> {
  const { timeoutMs, allow, ca } = options
  const why = whyNotUrl(url, allow)
  if (why !== undefined) throw new Refusal(`its URL is refused: ${why}`)
  const { protocol } = new URL(url)
  const mayConnect = (address: string) => mayReach(protocol, address, allow)
  const host = hostOf(url)
  // A URL with an address needs no name resolution.
  if (isAddress(host) && !mayConnect(host)) throw notPublic()
  const { promise, resolve, reject } = Promise.withResolvers<Attempt>()
  const request = (protocol === 'https:' ? https : http).request(url, {
    method: 'POST',
    // A separate agent keeps no connections: the address of a kept one would have been checked long ago.
    agent: false,
    lookup: checkedLookup(options.lookup ?? dnsLookup, mayConnect),
    signal: AbortSignal.timeout(timeoutMs),
    headers: {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(message.body),
      'user-agent': 'Simherd-Webhooks',
      ...signedHeaders(message),
    },
    ...(ca === undefined ? {} : { ca }),
  })
  request.on('error', reject)
  request.on('response', (response) => {
    // The status has come: an answer that breaks off, or never ends, still is one.
    request.off('error', reject).on('error', () => undefined)
    readText(response)
      .catch(() => '')
      .then((text) => {
        request.destroy()
        const code = response.statusCode ?? null
        const outcome = httpOutcome(code)
        const retryAfter = response.headers['retry-after'] ?? null
        resolve({ outcome, code, response: text, why: WHY[outcome] ?? `it answered ${code}`, retryAfter })
      }, reject)
  })
  request.end(message.body)
  return promise
}

/** A resolver that returns only addresses that may be connected to. */
const checkedLookup =
  (lookup: typeof dnsLookup, mayConnect: (address: string) => boolean): LookupFunction =>
  (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found: LookupAddress[]) => {
      const addresses = error === null ? found.filter(({ address }) => mayConnect(address)) : []
      const [first] = addresses
      if (first === undefined) callback(error ?? notPublic(), '')
      else if (options.all === true) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  }

/** The beginning of an answer's body, on one line. Reads no more than {@link MOST_BYTES}. */
async function readText(response: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response) {
    chunks.push(chunk)
    bytes += chunk.length
    // Leaving the loop ends the connection.
    if (bytes >= MOST_BYTES) break
  }
  const text = Buffer.concat(chunks).subarray(0, MOST_BYTES).toString()
  return text
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, KEPT_CHARS)
}

function wordsOf(error: unknown, timeoutMs: number): string {
  if (error instanceof Refusal) return error.message
  if (error instanceof AggregateError && error.errors.length > 0) return wordsOf(error.errors[0], timeoutMs)
  if (!(error instanceof Error)) return 'no connection'
  if (error.name === 'AbortError' || error.name === 'TimeoutError') return `no answer within ${timeoutMs / 1000} s`
  return `no connection: ${'code' in error && typeof error.code === 'string' ? error.code : error.name}`
}
