/**
 * Wait in real time for something to happen. They fail after a minute, or after the given time.
 *
 *   soon    waits until expectations hold: in tests, for everything that happens later
 *   until   waits until something is there, and names it in the error: for what a test needs, and outside of tests
 */
import { setTimeout as sleep } from 'node:timers/promises'

const SECONDS = 60
const EVERY_MS = 50

let over = new AbortController()

/** Ends all current waits. Called when a harness closes: the waits of a test that timed out would otherwise go on. */
export function endWaits(): void {
  over.abort()
  over = new AbortController()
}

/**
 * Waits until something holds.
 *
 * @param holds throws while it does not hold, as `expect` does
 * @returns what `holds` returns
 * @throws Error of the last attempt
 */
export async function soon<T>(holds: () => T | Promise<T>, seconds = SECONDS, everyMs = EVERY_MS): Promise<T> {
  const { signal } = over
  for (const deadline = Date.now() + seconds * 1000; ; await sleep(everyMs)) {
    try {
      return await holds()
    } catch (error) {
      if (signal.aborted || Date.now() > deadline) throw error
    }
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
  everyMs = EVERY_MS,
): Promise<T> {
  const there = async () => {
    const seen = await look()
    if (seen === undefined || seen === false) throw new Error('not there yet')
    return seen
  }
  return soon(there, seconds, everyMs).catch((error: unknown) => {
    throw new Error(`${what}: waited ${seconds} s in vain; last: ${String(error)}`, { cause: error })
  })
}
