/**
 * The addresses of one listener of the service: of a load balancer, or of several APIs that answer alike.
 *
 * Requests take turns. One that fails at an address goes on to the next. An address that did not respond rests; then one
 * request at a time tries it again. Every request of Simherd's own clients may be sent twice: it reads, or has an
 * idempotency key, or names the target state.
 */
import { withoutSlash } from '../../domain/http.ts'

/** How long an address that did not respond is left alone. */
const REST_MS = 10_000
/** Longest wait for one address while another works. */
const ATTEMPT_MS = 10_000
/** A proxy without an API behind it, or an API without its database. */
const ELSEWHERE: ReadonlySet<number> = new Set([502, 503, 504])

/** Sends one request and resolves with the head of the response. */
type Send = (request: Request, signal: AbortSignal) => Promise<Response>
const fetchOnce: Send = (request, signal) => fetch(request, { signal })

export interface Addresses {
  /** The base URL to build requests with. {@link Addresses.send} puts another in its place. */
  readonly first: string
  /** The addresses, for messages. */
  readonly names: string
  /**
   * Sends a request to one address after the other, until one responds with anything but 502, 503 or 504. An address that
   * rests gets it only if no other can be connected to. If the last one does not respond to others either, the request goes
   * back to the first, and stays.
   *
   * @param timeoutMs for all of them together, the body of the response included
   * @param signal ends the request at once. Default: the request's own
   * @param send default: `fetch`
   * @returns the last response
   * @throws the error of the last address, if that did not respond
   */
  readonly send: (
    request: Request,
    options: { readonly timeoutMs: number; readonly signal?: AbortSignal; readonly send?: Send },
  ) => Promise<Response>
}

/** @param setting base URLs with commas between them */
export function openAddresses(setting: string, now: () => number = () => performance.now()): Addresses {
  const all = setting.split(',').map((url) => ({ url: withoutSlash(url.trim()), silentAt: -Infinity }))
  const first = all[0]?.url ?? ''
  let turn = 0

  const rests = ({ silentAt }: { silentAt: number }) => now() - silentAt < REST_MS
  /** First those that work, in turn; then those that rest, the longest rested first. */
  const inOrder = () => {
    const from = turn++ % all.length
    const turned = [...all.slice(from), ...all.slice(0, from)]
    const resting = turned.filter(rests).toSorted((one, other) => one.silentAt - other.silentAt)
    return [...turned.filter((one) => !rests(one)), ...resting]
  }

  return {
    first,
    names: all.map(({ url }) => url).join(' and '),
    send: async (request, { timeoutMs, signal = request.signal, send = fetchOnce }) => {
      const whole = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
      const path = request.url.slice(first.length)
      const order = inOrder()
      for (let index = 0; ; index++) {
        const address = order[index % order.length]
        const next = order[(index + 1) % order.length]
        if (address === undefined || next === undefined) throw new Error('no address')
        const isLast = () => index + 1 >= order.length || rests(next)
        // While this request tries an address that has rested, others leave it alone.
        if (address.silentAt > -Infinity) address.silentAt = now()
        const isHanging = () => index < order.length && address.silentAt > -Infinity && next !== address && !rests(next)
        const attempt = new AbortController()
        const mayLeave = () => !isLast() || isHanging()
        const timer = setInterval(() => mayLeave() && attempt.abort(), Math.min(ATTEMPT_MS, timeoutMs / 3))
        try {
          // What is sent is for this address only, so a redirect counts as an answer.
          const moved = new Request(new Request(address.url + path, request.clone()), { redirect: 'manual' })
          const response = await send(moved, AbortSignal.any([whole, attempt.signal]))
          address.silentAt = -Infinity
          if (isLast() || !ELSEWHERE.has(response.status)) return response
          await response.body?.cancel()
        } catch (error) {
          if (!signal.aborted) address.silentAt = now()
          if (whole.aborted || (index + 1 >= order.length && !attempt.signal.aborted)) throw error
        } finally {
          clearInterval(timer)
        }
      }
    },
  }
}
