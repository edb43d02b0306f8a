/** Which addresses webhooks may be sent to. Pure. */
import ipaddr from 'ipaddr.js'

/** A network: its address, and how many bits of it count. */
export type Network = readonly [ipaddr.IPv4 | ipaddr.IPv6, number]

/**
 * Reads networks in CIDR notation, with commas between them.
 *
 * @returns undefined if one of them is none
 */
export function parseNetworks(text: string): readonly Network[] | undefined {
  const words = text.split(',').map((word) => word.trim())
  const named = words.filter((word) => word !== '')
  return named.every((word) => ipaddr.isValidCIDR(word)) ? named.map((word) => ipaddr.parseCIDR(word)) : undefined
}

/** Whether an address is in one of the networks. @param address IPv4 or IPv6; a mapped IPv4 counts as IPv4 */
function isWithin(networks: readonly Network[], address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  return networks.some(([network, bits]) => network.kind() === parsed.kind() && parsed.match(network, bits))
}

/** All that IANA gives out of IPv6 for the public internet. */
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
 * that the operator allows. Asked when a webhook is registered, and of each address that is connected to.
 *
 * @param protocol `https:` or `http:`
 */
export const mayReach = (protocol: string, address: string, allow: readonly Network[]): boolean =>
  (protocol === 'https:' && isPublic(address)) || isWithin(allow, address)
