/**
 * Wait in real time for something to happen. They fail after a minute, or after the given time. They look less often the
 * longer they have waited: who waits for a busy machine must not keep it busy.
 *
 *   soon    waits until expectations hold: in tests, for everything that happens later
 *   until   waits until something is there, and names it in the error: for what a test needs, and outside of tests
 *
 * `untilInstant` waits for an instant of the real clock: for tests of cycles that really end.
 */
import { setTimeout as sleep } from 'node:timers/promises'

const SECONDS = 60
/** Looks are a twentieth of the time waited so far apart: the wait then lasts a twentieth too long at the most. */
const SHARE = 1 / 20
const LEAST_MS = 20
const MOST_MS = 1000

let over = new AbortController()

/**
 * Ends all current waits. Called when a harness closes: the waits of a test that timed out would otherwise go on.
 *
 * @param why what the waits then throw; default: the error of their last attempt
 */
export function endWaits(why?: Error): void {
  over.abort(why ?? null)
  over = new AbortController()
}

/** The pause after a look, in milliseconds. @param waitedMs time waited so far */
export const pauseMs = (waitedMs: number): number => Math.min(MOST_MS, Math.max(LEAST_MS, waitedMs * SHARE))

/**
 * Waits until something holds.
 *
 * @param holds throws while it does not hold, as `expect` does
 * @returns what `holds` returns
 * @throws Error of the last attempt
 */
export async function soon<T>(holds: () => T | Promise<T>, seconds = SECONDS): Promise<T> {
  const { signal } = over
  const began = performance.now()
  const waited = () => performance.now() - began
  for (;;) {
    try {
      return await holds()
    } catch (error) {
      if (signal.aborted) throw signal.reason ?? error
      if (waited() > seconds * 1000) throw error
    }
    await sleep(pauseMs(waited()), undefined, { signal }).catch(() => undefined)
  }
}

/**
 * Waits until something is there.
 *
 * @param what names it in the error
 * @param look returns undefined or false, or throws, while nothing is there
 * @returns what `look` returns
 * @throws Error that names `what`, with the last failure
 */
export async function until<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  seconds = SECONDS,
): Promise<T> {
  const there = async () => {
    const seen = await look()
    if (seen === undefined || seen === false) throw new Error('not there yet')
    return seen
  }
  const { signal } = over
  return soon(there, seconds).catch((error: unknown) => {
    if (signal.aborted && error === signal.reason) throw error
    throw new Error(`${what}: waited ${seconds} s in vain; last: ${String(error)}`, { cause: error })
  })
}

/** Waits for an instant of the real clock, in epoch milliseconds. @throws AbortError if the harness closes before */
export async function untilInstant(at: number): Promise<void> {
  await sleep(Math.max(0, at - Date.now()), undefined, { signal: over.signal })
}
