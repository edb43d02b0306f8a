/**
 * Waits inside an activity, with heartbeats to the server. A cancellation ends the wait. For runs from before
 * decision 25.
 */

import { heartbeat, sleep } from '@temporalio/activity'
import type { Waits } from '../domain/temporal/waits.ts'
import { backoffMs } from '../domain/time/backoff.ts'
import { durationMs } from '../domain/time/duration.ts'

/** Milliseconds between heartbeats, well under the heartbeat timeout of 30 s. */
const HEARTBEAT_MS = 10_000

async function pause(ms: number, details: unknown): Promise<void> {
  for (let left = ms; left > 0; left -= HEARTBEAT_MS) {
    heartbeat(details)
    await sleep(Math.min(left, HEARTBEAT_MS))
  }
}

/**
 * Calls `ask` until it returns a result, with pauses that double from `pollMin` to `pollMax`.
 *
 * @param details sent with each heartbeat, and available to the next attempt
 * @throws CancelledFailure if the activity is cancelled
 */
export async function poll<T>(waits: Waits, ask: () => Promise<T | undefined>, details?: unknown): Promise<T> {
  const pauses = { firstMs: durationMs(waits.pollMin), longestMs: durationMs(waits.pollMax) }
  for (let looks = 1; ; looks++) {
    heartbeat(details)
    const answer = await ask()
    if (answer !== undefined) return answer
    await pause(Math.max(backoffMs(looks, pauses), 10), details)
  }
}
