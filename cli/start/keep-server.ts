/** Keeps an embedded server up: one that dies is started again, with the same data and on the same port. */

import { setTimeout as sleep } from 'node:timers/promises'
import { backoffMs } from '../../domain/time/backoff.ts'
import { startedAt } from '../../stack/pids.ts'
import { wordsOf } from '../failures.ts'
import type { Reporter } from '../reporter.ts'

interface Server {
  readonly pid: number
  readonly stop: () => Promise<void>
}

const LOOK_EVERY_MS = 1000
const PAUSES = { firstMs: 1000, longestMs: 30_000 }

/**
 * Watches a running server, and starts it again when its process is gone.
 *
 * @param again starts it with the same data and the same port
 * @param onPid called with the pid of each new process
 */
export function keepServer(
  name: string,
  first: Server,
  again: () => Promise<Server>,
  { reporter, onPid }: { readonly reporter: Reporter; readonly onPid: (pid: number) => Promise<void> },
): { readonly stop: () => Promise<void>; readonly pid: () => number } {
  const stopping = new AbortController()
  let server = first
  let failures = 0

  const look = async () => {
    if ((await startedAt(server.pid)) !== undefined) {
      failures = 0
      return LOOK_EVERY_MS
    }
    reporter.warn(`${name} has ended unasked; starting it again`)
    try {
      server = await again()
      await onPid(server.pid)
      reporter.say(`${name} runs again`)
      return LOOK_EVERY_MS
    } catch (error) {
      failures += 1
      const pauseMs = backoffMs(failures, PAUSES)
      reporter.warn(`${name} did not start again: ${wordsOf(error)}; next attempt in ${pauseMs / 1000} s`)
      return pauseMs
    }
  }
  const watch = async () => {
    for (let waitMs = LOOK_EVERY_MS; !stopping.signal.aborted; ) {
      await sleep(waitMs, undefined, { signal: stopping.signal }).catch(() => undefined)
      if (!stopping.signal.aborted) waitMs = await look()
    }
  }
  const watching = watch()
  return {
    pid: () => server.pid,
    stop: async () => {
      stopping.abort()
      await watching
      await server.stop()
    },
  }
}
