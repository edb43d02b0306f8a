/**
 * Requests a key may make in a minute. Counted by key, over all paths; operator keys are the platform's own, the
 * workers' among them, and are not counted. Where the counts cannot be reached requests pass: a limit that is
 * lost for a while costs less than a service that is.
 */
import rateLimit from '@fastify/rate-limit'
import type { FastifyInstance } from 'fastify'
import { ServiceError } from '../../domain/errors.ts'

export interface RequestLimit {
  /** Requests a minute and key; 0: no limit. */
  readonly perMinute: number
  /** A Redis (ioredis) that several processes count in together; left out: each counts for itself. */
  readonly redis?: object
}

const MINUTE_MS = 60_000
/** Keys whose counts a process keeps in memory: the least recently seen is forgotten first. */
const MOST_KEYS = 10_000

/** Limits the requests to the paths of a scope. Call after `useKeys`: it counts by key. */
export async function useRateLimit(app: FastifyInstance, { perMinute, redis }: RequestLimit): Promise<void> {
  if (perMinute === 0) return
  await app.register(rateLimit, {
    max: perMinute,
    timeWindow: MINUTE_MS,
    cache: MOST_KEYS,
    keyGenerator: (request) => request.keyId,
    allowList: (request) => request.keyTenantId === null,
    enableDraftSpec: true,
    skipOnError: true,
    ...(redis === undefined ? {} : { redis, nameSpace: 'simherd-requests-' }),
    errorResponseBuilder: (_request, { max, ttl }) =>
      new ServiceError(
        'rate_limited',
        `This key may make ${max} requests a minute: go on in ${Math.ceil(ttl / 1000)} second(s).`,
      ),
  })
}
