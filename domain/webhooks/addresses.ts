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
export function isWithin(networks: readonly Network[], address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  return networks.some(([network, bits]) => network.kind() === parsed.kind() && parsed.match(network, bits))
}

/**
 * Whether an address is one of the public internet. Private, loopback, link-local, shared, translated, multicast and
 * reserved ones are not. Source: the special-purpose registries of IANA, as ipaddr.js has them.
 */
export const isPublic = (address: string): boolean =>
  ipaddr.isValid(address) && ipaddr.process(address).range() === 'unicast'
