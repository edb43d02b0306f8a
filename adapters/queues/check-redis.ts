import { Redis } from 'ioredis'

/**
 * Checks that Redis answers, with the user, the password and the TLS of its URL.
 *
 * @param timeoutMs longest time to connect, and again to answer
 * @throws Error with the reason; for a wrong password, Redis' own words
 */
export async function checkRedis(redisUrl: string, timeoutMs: number): Promise<void> {
  const redis = new Redis(redisUrl, {
    lazyConnect: true,
    connectTimeout: timeoutMs,
    commandTimeout: timeoutMs,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  })
  let reason: Error | undefined
  redis.on('error', (error) => {
    reason ??= error
  })
  try {
    await redis.connect()
    await redis.ping()
  } catch (error) {
    throw reason ?? error
  } finally {
    redis.disconnect()
  }
}
