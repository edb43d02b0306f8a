/**
 * Looks at runs that this run of a batch did not start: runs of an earlier run of the batch, and runs started
 * elsewhere. Temporal does not report their ends.
 *
 * One look covers all of them, at growing pauses. So history and requests stay few for any number of stuck SIMs.
 */
import { condition } from '@temporalio/workflow'
import type { SimEnd, SimRun } from '../../activities/provision-batches.ts'
import { backoffMs } from '../../domain/time/backoff.ts'
import { long } from '../run/activities.ts'

/** Pauses between two looks, in milliseconds. The first ones are short: most runs take a second or two. */
const LOOKS = { firstMs: 1000, longestMs: 60_000 }

export interface Lookout {
  /** The end of a run; null without a result. @throws ActivityFailure if the service refuses the look for good */
  endOf(run: SimRun): Promise<SimEnd | null>
  /** Ends the wait for a run. */
  forget(run: SimRun): void
  /** Looks at once: something is happening to the runs. */
  hurry(): void
  /** Whether a run is waited for. Then the history grows with each look. */
  isWatching(): boolean
}

export function openLookout(tenantId: string): Lookout {
  const awaited = new Map<SimRun, PromiseWithResolvers<SimEnd | null>>()
  let looks = 0
  let hurried = false
  let running = false

  async function lookOnce(): Promise<void> {
    const runs = [...awaited]
    const found = await long.lookAtSimRuns({ tenantId, runs: runs.map(([run]) => run) })
    for (const [n, [run, { resolve }]] of runs.entries()) {
      const ended = found[n]
      if (ended == null) continue
      resolve(ended.end)
      awaited.delete(run)
      looks = 0
    }
  }

  async function watch(): Promise<void> {
    running = true
    while (awaited.size > 0) {
      if (!hurried) await condition(() => hurried || awaited.size === 0, backoffMs(looks, LOOKS))
      if (awaited.size === 0) break
      looks = hurried ? 1 : looks + 1
      hurried = false
      try {
        await lookOnce()
      } catch (error) {
        for (const { reject } of awaited.values()) reject(error)
        awaited.clear()
      }
    }
    running = false
  }

  return {
    endOf: (run) => {
      const wait = Promise.withResolvers<SimEnd | null>()
      awaited.set(run, wait)
      hurried = true
      if (!running) void watch()
      return wait.promise
    },
    forget: (run) => void awaited.delete(run),
    hurry: () => {
      hurried = true
    },
    isWatching: () => awaited.size > 0,
  }
}
