/** Reads responses from a bridge to the carrier. The bridge is foreign software, so its responses are not trusted. */
import { retryAfterMs } from '../../domain/http.ts'
import { readJson } from '../../domain/json.ts'
import { isOwnCode } from '../../domain/temporal/ticket-ends.ts'
import { storable } from '../../domain/text.ts'
import { CarrierError, type CarrierResponse } from './network.ts'

/** 64 KiB. A response is two short fields; anything longer is not a response. */
const MAX_BYTES = 65_536
/** One hour. A bridge with a wrong clock must not delay a ticket for years. */
const MAX_PAUSE_MS = 3_600_000
const QUOTED_CHARS = 200
const DETAIL_CHARS = 500
const CODE_CHARS = 64

/**
 * Reads the text of a body. Stops after the chunk that exceeds {@link MAX_BYTES}.
 *
 * Bytes that are not UTF-8 become U+FFFD. What counts in a response is ASCII, and a ticket must not wait for ever for a letter
 * in a reason.
 */
export async function readBounded(response: Response): Promise<string> {
  if (response.body === null) return ''
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for await (const chunk of response.body) {
    bytes += chunk.byteLength
    text += decoder.decode(chunk, { stream: true })
    // Leaving the loop cancels the stream and its connection.
    if (bytes > MAX_BYTES) break
  }
  return text
}

/**
 * Reads the response to one operation.
 *
 * Only a 4xx with a `code` from the bridge itself fails for good. A proxy's error page, a redirect, a refused secret or
 * a response about another ticket proves nothing about the SIM. Such a request is tried again.
 *
 * @throws CarrierError for everything but a 200 with `{ticketId, effect}` of this ticket
 */
export function readResponse(ticketId: string, response: Response, text: string): CarrierResponse {
  const { status } = response
  const body = parse(text)
  const pause = retryAfterMs(response.headers.get('retry-after'), Date.now(), MAX_PAUSE_MS)
  const again = (code: string, message: string) =>
    new CarrierError(message, { code, retryable: true, ...(pause === undefined ? {} : { retryAfterMs: pause }) })

  if (status === 200) {
    if (body?.ticketId === ticketId && (body.effect === 'done' || body.effect === 'already')) {
      return { ticketId, effect: body.effect }
    }
    throw again(
      'carrier_unreadable',
      `The carrier answered 200 with ${quoteBody(text)}, not with the effect of this ticket`,
    )
  }
  const said = typeof body?.code === 'string' ? `${plain(body.code, CODE_CHARS)}: ${detailOf(body)}` : quoteBody(text)
  if (status === 429) throw again('carrier_busy', `The carrier wants to be asked later (429): ${said}`)
  if (status >= 500 || status === 408 || status === 425) {
    throw again('carrier_unavailable', `The carrier could not do it now (${status}): ${said}`)
  }
  if (status === 401 || status === 403) {
    throw again('carrier_unauthorized', `The carrier refused our secret (${status}): ${said}; check CARRIER_SECRET`)
  }
  if (status >= 400 && typeof body?.code === 'string') {
    const code = /^[\w.-]{1,64}$/.test(body.code) && !isOwnCode(body.code) ? body.code : 'carrier_refused'
    throw new CarrierError(`The carrier refused (${status}): ${detailOf(body)}`, { code, retryable: false })
  }
  throw again('carrier_unreadable', `The carrier answered ${status} with ${quoteBody(text)}; check CARRIER_URL`)
}

interface Body {
  readonly ticketId?: unknown
  readonly effect?: unknown
  readonly code?: unknown
  readonly detail?: unknown
}

function parse(text: string): Body | undefined {
  const read = readJson(text)
  return 'value' in read && typeof read.value === 'object' && read.value !== null ? read.value : undefined
}

/** Puts text on one line, and cuts it to `most` UTF-16 units. Half a surrogate pair at the cut becomes U+FFFD. */
const plain = (text: string, most = Number.POSITIVE_INFINITY) =>
  storable(
    text
      .replace(/[\p{Cc}\s]+/gu, ' ')
      .trim()
      .slice(0, most),
  )

function detailOf(body: Body): string {
  const detail = typeof body.detail === 'string' ? plain(body.detail, DETAIL_CHARS) : ''
  return detail === '' ? 'no reason given' : detail
}

/** Quotes a body, short and on one line. */
export function quoteBody(text: string): string {
  const shown = plain(text)
  if (shown === '') return 'an empty body'
  return shown.length > QUOTED_CHARS ? `“${plain(shown, QUOTED_CHARS)}…”` : `“${shown}”`
}
