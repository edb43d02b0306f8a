/** Checks of the origin of requests and the target of redirects. Pure. */
import type { IncomingHttpHeaders } from 'node:http'

/**
 * Whether a form was sent from a page of the console, and not by another site in the name of a signed-in person.
 * `Sec-Fetch-Site` decides; browsers without it send `Origin`. Other programs send neither, and are refused.
 */
export function isOwnRequest({ 'sec-fetch-site': site, origin = '', host }: IncomingHttpHeaders): boolean {
  if (site !== undefined) return site === 'same-origin'
  return host !== undefined && URL.parse(origin)?.host === host.toLowerCase()
}

/**
 * Whether the browser may drop the cookie of the session: it keeps one by https, or on this machine. There it sends
 * `Sec-Fetch-Site`, and nowhere else. Source: Fetch Metadata Request Headers, section 2.
 */
export const mayDropCookie = ({ 'sec-fetch-site': site }: IncomingHttpHeaders): boolean => site === undefined

/** An origin that no text of others can name. */
const HERE = 'http://console.invalid'

/** A path of the console to go on to. Other text, such as the address of another site, becomes `/`. */
export function ownPath(next: unknown): string {
  const url = typeof next === 'string' && next.startsWith('/') ? URL.parse(next, HERE) : null
  return url?.origin === HERE ? url.pathname + url.search : '/'
}
