/** The Redis for the common request counts of several API processes. */
import { Redis } from 'ioredis'

/** Counting must not delay a request for longer, in milliseconds. */
const ANSWERS_WITHIN_MS = 500

/** Connects to Redis for counting. An unreachable or slow Redis is an error at once; nothing is queued for it. */
export function openRequestCounts(
  redisUrl: string,
  onError: (error: Error) => void,
  commandTimeout = ANSWERS_WITHIN_MS,
) {
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: 1, enableOfflineQueue: false, commandTimeout })
  redis.on('error', onError)
  return { redis, close: async () => redis.disconnect() }
}
