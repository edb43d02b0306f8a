/** The address that a request comes from, also behind proxies. Limits for those without a working key count by it. */
import { isIP } from 'node:net'
import { normalizeIP } from '@fastify/rate-limit'
import type { FastifyRequest } from 'fastify'
import { type IpNetwork, isWithin } from '../../domain/networks.ts'

/** Longest chain of proxies. A header may name thousands, and each request is looked at. */
const MOST_PROXIES = 10

/** An address as some proxies write it: `192.0.2.7:50123`, `[2001:db8::7]`, `[2001:db8::7]:443`. */
const WITH_PORT = /^(?:\[([\da-f:.]+)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/i

/** The address without port and zone. @returns undefined for other text */
function addressIn(hop: string): string | undefined {
  const [, bracketed, dotted] = WITH_PORT.exec(hop) ?? []
  const address = bracketed ?? dotted ?? hop
  return isIP(address) === 0 ? undefined : address.replace(/%.*/, '')
}

/** For fastify's `trustProxy`: whether a hop's `X-Forwarded-For` is trusted. @param proxies their networks */
export const trusts = (proxies: readonly IpNetwork[]) => (hop: string, distance: number) => {
  const address = addressIn(hop)
  return distance < MOST_PROXIES && address !== undefined && isWithin(proxies, address)
}

/**
 * The address of the caller, for counts: the last one that trusted proxies give, or else the address of the connection. An
 * IPv6 address is cut to its first 64 bits, one customer's network. Empty if the connection is closed.
 */
export function callerAddress(request: FastifyRequest): string {
  const hops = request.ips ?? [request.ip]
  return normalizeIP(hops.flatMap((hop) => addressIn(hop) ?? []).at(-1) ?? '')
}
