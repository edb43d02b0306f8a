/**
 * Sweeps find due work without a job, because a process died, a job was lost, or its time has come.
 *
 * They read the work lists of PostgreSQL and enqueue jobs. The handlers of the queues do the work. A worker runs one
 * sweep at a time. Several workers may sweep at once, because every job is deduplicated and all work is claimed.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { everySoOften } from './until-done.ts'

export interface Sweep {
  readonly name: string
  /** Least time between two runs, in milliseconds. Default: every round. */
  readonly everyMs?: number
  readonly run: () => Promise<void>
}

/** Random share of the pause, to keep workers started together from sweeping together. */
const JITTER = 0.25

/** Runs sweeps in turn, in rounds `everyMs` apart. A failed one is logged, and runs again. `stop` waits for it. */
export function startSweeps(
  sweeps: readonly Sweep[],
  everyMs: number,
  log: Logger,
): { readonly stop: () => Promise<void> } {
  const stopping = new AbortController()
  const ranAt = new Map<string, number>()
  const reports = new Map(
    sweeps.map(({ name }) => [
      name,
      everySoOften((error, silenced) => log.warn({ sweep: name, reason: error.message, silenced }, 'a sweep failed')),
    ]),
  )

  const round = async () => {
    for (const { name, everyMs: least = 0, run } of sweeps) {
      if (stopping.signal.aborted) return
      if (performance.now() - (ranAt.get(name) ?? Number.NEGATIVE_INFINITY) < least) continue
      ranAt.set(name, performance.now())
      await run().catch((error: unknown) => {
        ranAt.delete(name)
        reports.get(name)?.(error instanceof Error ? error : new Error(String(error)))
      })
    }
  }
  const rounds = async () => {
    while (!stopping.signal.aborted) {
      await round()
      const pauseMs = everyMs * (1 - JITTER + 2 * JITTER * Math.random())
      await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }
  const running = rounds()
  return {
    stop: async () => {
      stopping.abort()
      await running
    },
  }
}
