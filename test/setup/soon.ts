/**
 * Waiting for what comes about, in true time; for what never does, a minute unless more is given.
 *
 *   soon    until expectations hold: in tests, wherever something is looked at that comes about later
 *   until   until something is there, named in words: for what a test stands on, and outside of tests
 */
import { setTimeout as sleep } from 'node:timers/promises'

const SECONDS = 60
const EVERY_MS = 50

let over = new AbortController()

/** Ends all waits that are under way: of a test that has ended, what it waits for yet is nobody's any more. */
export function endWaits(): void {
  over.abort()
  over = new AbortController()
}

/**
 * Waits until something holds.
 *
 * @param holds throws while it does not, as an `expect` does
 * @returns what it returns
 * @throws Error of the last look
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
 * @param what names it
 * @param look sees nothing yet where it answers undefined or false, or throws
 * @returns what it has seen
 * @throws Error with what was seen last
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
