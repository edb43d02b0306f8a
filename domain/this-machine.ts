/** Recognises hosts that are this machine: data sent to them crosses no network. Pure. */
import ipaddr from 'ipaddr.js'

/** @param host of a URL: a name, or an address with or without brackets */
export function isThisMachine(host: string): boolean {
  const bare = host.replaceAll(/^\[|\]$/g, '')
  return /^localhost$/i.test(bare) || (ipaddr.isValid(bare) && ipaddr.process(bare).range() === 'loopback')
}
