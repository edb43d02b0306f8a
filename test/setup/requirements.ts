/** What a suite needs and a machine may lack. What is missing is named at the end of `npm test`; in CI it is a failure. */
import { inject } from 'vitest'
import { noteSkip } from './shared.ts'

/**
 * The program of Temporal's time-skipping server, for a suite under `describe.skipIf(path === undefined)`.
 *
 * @param suite what is skipped without it
 */
export function requireJava(suite: string): string | undefined {
  const found = inject('timeSkipping')
  if ('path' in found) return found.path
  noteSkip(suite, found.skip)
  return undefined
}

/**
 * The url of a Redis, for a suite under `describe.skipIf(url === undefined)`.
 *
 * @param suite what is skipped without it
 */
export function requireRedis(suite: string): string | undefined {
  const url = inject('redisUrl')
  if (url !== null) return url
  noteSkip(suite, 'redis-server is not installed (Debian: redis-server)')
  return undefined
}
