/** HTTP rules that clients and servers share. */

/** An address to which paths are added. */
export const withoutSlash = (url: string): string => url.replace(/\/+$/, '')

/** In quotes, or bare, as most clients send it. Source: draft-ietf-httpapi-idempotency-key-header. */
export const IDEMPOTENCY_KEY = /^(?:"[ !#-~]{1,255}"|[!#-~](?:[ !#-~]{0,253}[!#-~])?)$/

/** How long a response is kept for its `Idempotency-Key`, in milliseconds: 24 hours. */
export const RESPONSES_KEPT_MS = 24 * 3_600_000

/**
 * Reads a Retry-After header: seconds, or an HTTP date. Source: RFC 9110, 10.2.3.
 *
 * @param now epoch milliseconds
 * @param mostMs longest delay to return, in milliseconds
 * @returns the delay in milliseconds, from 0; undefined if the header is missing or malformed
 */
export function retryAfterMs(header: string | null, now: number, mostMs: number): number | undefined {
  if (header === null || header.trim() === '') return undefined
  const seconds = Number(header)
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - now
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), mostMs) : undefined
}
