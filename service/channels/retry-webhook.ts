/** Decides about a delivery after an attempt. Pure; instants are epoch milliseconds. Source: decision 0047. */

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

/** Pauses after the first attempt, the second, and so on; the last one again and again. */
const PAUSES_MS: readonly number[] = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  15 * MINUTE_MS,
  HOUR_MS,
  4 * HOUR_MS,
  12 * HOUR_MS,
  24 * HOUR_MS,
]
/** How long a delivery is tried. The last attempt is at its end. */
export const TRIED_FOR_MS = 72 * HOUR_MS
/** Longest pause of an endpoint that is away: after its return, waiting deliveries arrive within this time. */
const LONGEST_AWAY_MS = 15 * MINUTE_MS

/**
 * The meaning of an answer. `gone`: the endpoint accepts no more events. `away`: no answer, or the endpoint is not
 * well. `refused`: it does not take this delivery, and may take others.
 */
export type Verdict = 'delivered' | 'gone' | 'away' | 'refused'

/** Of the 4xx, those that ask for patience. */
const NOT_NOW: ReadonlySet<number> = new Set([408, 425, 429])

/** @param status HTTP status of the answer; null if none came */
export function verdictOn(status: number | null): Verdict {
  if (status === null || status >= 500 || NOT_NOW.has(status)) return 'away'
  if (status >= 200 && status < 300) return 'delivered'
  return status === 410 ? 'gone' : 'refused'
}

const pauseAfter = (times: number): number => PAUSES_MS[Math.min(Math.max(times, 1), PAUSES_MS.length) - 1] ?? HOUR_MS

/**
 * When a failed delivery is tried again; null: it is given up.
 *
 * @param attempts how many there were, the last one included
 * @param retryAfterMs pause requested by the endpoint; undefined if none
 */
export function nextAttempt(
  { attempts, triedFrom }: { readonly attempts: number; readonly triedFrom: number },
  now: number,
  retryAfterMs = 0,
): number | null {
  const until = triedFrom + TRIED_FOR_MS
  if (now >= until) return null
  return Math.min(now + Math.max(pauseAfter(attempts), retryAfterMs), until)
}

/** Until when an endpoint that is away is left alone. @param failures failed attempts in a row */
export const pausedUntil = (failures: number, now: number, retryAfterMs = 0): number =>
  now + Math.max(Math.min(pauseAfter(failures), LONGEST_AWAY_MS), retryAfterMs)
