/**
 * Limits the requests a key may make in a minute, counted by key over all paths. Operator keys are not counted: they
 * are the platform's own, and the workers use them. If the counts cannot be reached, requests pass. Losing the limit
 * for a while costs less than losing the service.
 */
import rateLimit from '@fastify/rate-limit'
import type { FastifyInstance } from 'fastify'
import { ServiceError } from '../../domain/errors.ts'

export interface RequestLimit {
  /** Requests a minute and key; 0: no limit. */
  readonly perMinute: number
  /** A Redis (ioredis) in which several processes count together. Without it, each process counts for itself. */
  readonly redis?: object
}

const MINUTE_MS = 60_000
/** Keys whose counts a process keeps in memory. The least recently seen key is forgotten first. */
const MOST_KEYS = 10_000

/**
 * Limits the requests to the paths of a scope. Call after `useKeys`: it counts by key.
 *
 * Refuses with `rate_limited` beyond the limit.
 */
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
