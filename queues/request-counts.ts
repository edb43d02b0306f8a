/** The Redis in which several API processes count requests together. */
import { Redis } from 'ioredis'

/**
 * Connects to Redis for counting. Counting must not delay a request. So a Redis that is away or slow is an error within
 * half a second, and nothing is queued for its return.
 *
 * @param onError called when a connection is lost; it is made again by itself
 */
export function openRequestCounts(redisUrl: string, onError: (error: Error) => void) {
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: 1, enableOfflineQueue: false, commandTimeout: 500 })
  redis.on('error', onError)
  return { redis, close: async () => redis.disconnect() }
}
