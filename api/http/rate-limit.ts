/**
 * Limits the requests a key may make in a minute, counted by key over all paths. Operator keys are not counted: they
 * are the platform's own, and the workers use them. If the counts cannot be reached, requests pass. Losing the limit
 * for a while costs less than losing the service.
 *
 * Also limits an address' requests to paths without a key: the documentation, links in mails, unknown paths and methods.
 */

import rateLimit from '@fastify/rate-limit'
import type { FastifyInstance } from 'fastify'
import { ServiceError } from '../../domain/errors.ts'
import { counted } from '../../domain/quantity.ts'
import { callerAddress } from './caller-address.ts'

export interface RequestLimit {
  /** Requests a minute and key; 0: no limit. */
  readonly perMinute: number
  /** A Redis (ioredis) in which several processes count together. Without it, each process counts for itself. */
  readonly redis?: object
}

export interface AnonymousLimit {
  /** Requests a minute and address to paths that take no key; 0: no limit. Default: {@link ANONYMOUS}. */
  readonly anonymousLimit?: number
}

/** The page of the documentation takes three, a link in a mail two. Many persons may share an address. */
const ANONYMOUS = 300
const MINUTE_MS = 60_000
/** Keys, or addresses, whose counts a process keeps in memory. The least recently seen one is forgotten first. */
const MOST_COUNTS = 10_000
const NO_HEADERS = { 'x-ratelimit-limit': false, 'x-ratelimit-remaining': false, 'x-ratelimit-reset': false }

/** Limits the requests to the paths of a scope with `rate_limited`. Call after `useKeys`: it counts by key. */
export async function useRateLimit(app: FastifyInstance, { perMinute, redis }: RequestLimit): Promise<void> {
  if (perMinute === 0) return
  await app.register(rateLimit, {
    max: perMinute,
    timeWindow: MINUTE_MS,
    cache: MOST_COUNTS,
    keyGenerator: (request) => request.keyId,
    allowList: (request) => request.keyTenantId === null,
    enableDraftSpec: true,
    skipOnError: true,
    ...(redis === undefined ? {} : { redis, nameSpace: 'simherd-requests-' }),
    errorResponseBuilder: (_request, { max, ttl }) =>
      new ServiceError(
        'rate_limited',
        `This key may make ${max} requests a minute: go on in ${counted(Math.ceil(ttl / 1000), 'second')}.`,
      ),
  })
}

/**
 * Limits the requests to paths without a key with `rate_limited`, before any other work. Paths for monitors are not
 * counted. Processes do not add up their counts.
 */
export async function useAnonymousLimit(
  app: FastifyInstance,
  { anonymousLimit = ANONYMOUS }: AnonymousLimit,
): Promise<void> {
  if (anonymousLimit === 0) return
  await app.register(rateLimit, {
    global: false,
    max: anonymousLimit,
    timeWindow: MINUTE_MS,
    cache: MOST_COUNTS,
    keyGenerator: callerAddress,
    // Only the console knows a caller as early as here.
    allowList: ({ keyId, routeOptions: { config } }) =>
      Boolean(keyId) || config.takesKey === true || config.isPolled === true,
    // Caches keep these responses: a caller's count does not belong into them.
    addHeadersOnExceeding: NO_HEADERS,
    addHeaders: NO_HEADERS,
    errorResponseBuilder: (request, { max, ttl }) =>
      new ServiceError(
        'rate_limited',
        `${callerAddress(request)} may make ${max} requests a minute without a key: go on in ${counted(Math.ceil(ttl / 1000), 'second')}.`,
      ),
  })
  app.addHook('onRequest', app.rateLimit())
}

/** The same number as refused keys, by default. */
const TRIES = 60

/** Limits an address' tries to sign in on the paths of a scope, right and wrong ones, with `rate_limited`. */
export async function useTryLimit(app: FastifyInstance, perMinute = TRIES): Promise<void> {
  if (perMinute === 0) return
  await app.register(rateLimit, {
    max: perMinute,
    timeWindow: MINUTE_MS,
    cache: MOST_COUNTS,
    keyGenerator: callerAddress,
    errorResponseBuilder: (request, { max, ttl }) =>
      new ServiceError(
        'rate_limited',
        `${callerAddress(request)} may try to sign in ${max} times a minute: go on in ${counted(Math.ceil(ttl / 1000), 'second')}.`,
      ),
  })
}
