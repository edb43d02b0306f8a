/** What both sides of an HTTP interface agree on. */

/**
 * Milliseconds that a Retry-After header asks for: seconds, or an HTTP date. Source: RFC 9110, 10.2.3.
 *
 * @param now epoch milliseconds
 * @param mostMs longest that is believed
 * @returns undefined where there is none, or it cannot be read
 */
export function retryAfterMs(header: string | null, now: number, mostMs: number): number | undefined {
  if (header === null || header.trim() === '') return undefined
  const seconds = Number(header)
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - now
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), mostMs) : undefined
}
