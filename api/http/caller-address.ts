/** The address that a request comes from. Limits for those without a working key count by it. */
import { isIP } from 'node:net'
import { normalizeIP } from '@fastify/rate-limit'
import type { FastifyRequest } from 'fastify'

/** The address alone, without zone. @returns undefined for text that is none */
const addressIn = (text: string): string | undefined => (isIP(text) === 0 ? undefined : text.replace(/%.*/, ''))

/**
 * The address of the caller, for counts. Of IPv6 the first 64 bits, which belong to one customer. Empty if the connection
 * has been closed.
 */
export const callerAddress = ({ ip }: FastifyRequest): string => normalizeIP(addressIn(ip) ?? '')
