/** Repeats an attempt until it works: an unreachable dependency must not end the process. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { backoffMs } from '../domain/time/backoff.ts'

const PAUSES = { firstMs: 500, longestMs: 15_000 }

/** Tries until it works, and logs each failure. @param what completes "waiting for …" @returns undefined if stopped */
export async function untilDone<T>(
  what: string,
  attempt: () => Promise<T>,
  { log, signal }: { readonly log: Logger; readonly signal: AbortSignal },
): Promise<T | undefined> {
  for (let failures = 1; !signal.aborted; failures++) {
    try {
      return await attempt()
    } catch (error) {
      const pauseMs = backoffMs(failures, PAUSES)
      log.warn({ reason: reasonOf(error), pauseMs }, `waiting for ${what}: trying again in ${pauseMs / 1000} s`)
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined)
    }
  }
  return undefined
}

export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ')
  return error instanceof Error ? error.message || error.name : String(error)
}

/** Reports each kind of error at most once in `everyMs`: a lost server breaks many connections. */
export function everySoOften(say: (error: Error, silenced: number) => void, everyMs = 10_000): (error: Error) => void {
  const told = new Map<string, { at: number; silenced: number }>()
  return (error) => {
    const last = told.get(error.message)
    const now = performance.now()
    if (last !== undefined && now - last.at < everyMs) {
      last.silenced += 1
      return
    }
    told.set(error.message, { at: now, silenced: 0 })
    say(error, last?.silenced ?? 0)
  }
}
