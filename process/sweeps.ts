/**
 * Sweeps: finding work that nobody was woken for, because a process died, a job was lost, or its time has come.
 *
 * They read the work lists of PostgreSQL and enqueue jobs; the work itself is done by the queues' handlers. Each
 * sweep of a worker runs one at a time; several workers may sweep at once, because every job is deduplicated
 * and every piece of work is claimed.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { everySoOften } from './retry.ts'

export interface Sweep {
  readonly name: string
  /** Least time between two runs; default: every round. */
  readonly everyMs?: number
  readonly run: () => Promise<void>
}

/** Workers that were started together must not sweep together. */
const JITTER = 0.25

/**
 * Runs sweeps, one after the other, round after round. One that fails is told in the log and takes its next turn.
 *
 * @param everyMs pause between two rounds, give or take a quarter
 * @returns `stop` waits for the sweep under way
 */
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
