/** Networks of IP addresses, as settings name them. Pure. */
import ipaddr from 'ipaddr.js'

/** A network: its address, and how many bits of it count. */
export type IpNetwork = readonly [ipaddr.IPv4 | ipaddr.IPv6, number]

/** Reads addresses and networks (CIDR) with commas between them. @returns undefined if one of them is none */
export function parseNetworks(text: string): readonly IpNetwork[] | undefined {
  const words = text.split(',').map((word) => word.trim())
  const networks = words.filter((word) => word !== '').map(parseNetwork)
  return networks.every((network) => network !== undefined) ? networks : undefined
}

function parseNetwork(word: string): IpNetwork | undefined {
  const cidr = word.includes('/') ? word : `${word}/${word.includes(':') ? 128 : 32}`
  // The library would else take `10/8` for 0.0.0.10/8.
  if (!ipaddr.IPv4.isValidCIDRFourPartDecimal(cidr) && !ipaddr.IPv6.isValidCIDR(cidr)) return undefined
  const [address, bits] = ipaddr.parseCIDR(cidr)
  // Mapped addresses are compared as IPv4.
  const isMapped = address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= 96
  return isMapped ? [address.toIPv4Address(), bits - 96] : [address, bits]
}

/** Whether an address is in one of the networks. @param address IPv4 or IPv6; a mapped IPv4 counts as IPv4 */
export function isWithin(networks: readonly IpNetwork[], address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  return networks.some(([network, bits]) => network.kind() === parsed.kind() && parsed.match(network, bits))
}

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

/** Whether data sent to a host crosses no network. @param host of a URL: a name, or an address with or without brackets */
export function isThisMachine(host: string): boolean {
  const bare = host.replaceAll(/^\[|\]$/g, '')
  return /^localhost$/i.test(bare) || (ipaddr.isValid(bare) && ipaddr.process(bare).range() === 'loopback')
}
