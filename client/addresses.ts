/**
 * The addresses of one listener of the service: of a load balancer, or of several APIs that answer alike.
 *
 * Requests take turns. One that fails at an address goes on to the next, and that address rests: then one request at a
 * time tries it again. Every request of Simherd's own clients may be sent twice: it reads, or has an idempotency key, or
 * names the state that it wants.
 */

/** How long an address that failed is left alone. */
const REST_MS = 10_000
/** Longest wait for one address while others are left. */
const ATTEMPT_MS = 10_000
/** A proxy without an API behind it, or an API without its database. */
const ELSEWHERE: ReadonlySet<number> = new Set([502, 503, 504])

/** Sends one request and resolves with the head of the response. */
type Send = (request: Request, signal: AbortSignal) => Promise<Response>

export interface Addresses {
  /** The base URL to build requests with. {@link Addresses.send} puts another in its place. */
  readonly first: string
  /** All of them, for messages. */
  readonly names: string
  /**
   * Sends a request to one address after the other, until one responds with anything but 502, 503 or 504.
   *
   * @param timeoutMs for all of them together, the body of the response included
   * @param signal ends the request at once
   * @returns the last response
   * @throws the error of the last address, if that did not respond
   */
  readonly send: (
    request: Request,
    options: { readonly timeoutMs: number; readonly signal: AbortSignal; readonly send: Send },
  ) => Promise<Response>
}

/** @param setting base URLs with commas between them */
export function openAddresses(setting: string, now: () => number = () => performance.now()): Addresses {
  const all = setting.split(',').map((url) => ({ url: url.trim().replace(/\/+$/, ''), failedAt: -Infinity }))
  const first = all[0]?.url ?? ''
  let turn = 0

  /** First those that work, in turn; then those that rest, the longest rested first. */
  const inOrder = () => {
    const from = turn++ % all.length
    const rests = ({ failedAt }: { failedAt: number }) => now() - failedAt < REST_MS
    const turned = [...all.slice(from), ...all.slice(0, from)]
    const resting = turned.filter(rests).toSorted((one, other) => one.failedAt - other.failedAt)
    return [...turned.filter((one) => !rests(one)), ...resting]
  }

  return {
    first,
    names: all.map(({ url }) => url).join(' and '),
    send: async (request, { timeoutMs, signal, send }) => {
      const whole = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
      const path = request.url.slice(first.length)
      const order = inOrder()
      for (const [index, address] of order.entries()) {
        const isLast = index === order.length - 1
        // While this request tries an address that has rested, others leave it alone.
        if (address.failedAt > -Infinity) address.failedAt = now()
        const attempt = new AbortController()
        const timer = isLast ? undefined : setTimeout(() => attempt.abort(), Math.min(ATTEMPT_MS, timeoutMs / 2))
        try {
          const moved = new Request(address.url + path, request.clone())
          const response = await send(moved, AbortSignal.any([whole, attempt.signal]))
          const works = !ELSEWHERE.has(response.status)
          address.failedAt = works ? -Infinity : now()
          if (works || isLast) return response
          await response.body?.cancel()
        } catch (error) {
          if (!signal.aborted) address.failedAt = now()
          if (isLast || whole.aborted) throw error
        } finally {
          clearTimeout(timer)
        }
      }
      throw new Error('no address')
    },
  }
}
