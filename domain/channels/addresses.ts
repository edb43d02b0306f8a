/** Which addresses webhooks may be sent to. Pure. */
import ipaddr from 'ipaddr.js'
import { type IpNetwork, isWithin } from '../networks.ts'

/** The IPv6 range from which IANA assigns addresses of the public internet. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * Whether an address is one of the public internet. Private, loopback, link-local, shared, translated, mapped, multicast
 * and reserved ones are not. Source: the special-purpose registries of IANA, as ipaddr.js has them.
 */
export function isPublic(address: string): boolean {
  if (!isAddress(address)) return false
  const parsed = ipaddr.parse(address)
  return parsed.range() === 'unicast' && (parsed.kind() === 'ipv4' || parsed.match(GLOBAL_UNICAST))
}

/** Whether a host is an address, and not a name. @param host of a URL, without brackets */
export const isAddress = (host: string): boolean => ipaddr.isValid(host)

/**
 * Whether a webhook may be sent to an address: by https to the public internet, and by http and https to the networks
 * that the operator allows. Checked when a webhook is registered, and for each address before a connection.
 *
 * @param protocol `https:` or `http:`
 */
export const mayReach = (protocol: string, address: string, allow: readonly IpNetwork[]): boolean =>
  (protocol === 'https:' && isPublic(address)) || isWithin(allow, address)
