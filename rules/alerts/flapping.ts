/**
 * Whether an alert flaps: it fires and resolves again and again. Then mails and enforcement leave it alone until it has
 * settled; the log goes on. The thresholds are Nagios' two: it begins at more changes than it ends at.
 */
import type { Cycle } from '../../domain/time/cycle.ts'
import { type AlertState, isFiring } from './state.ts'

/** An alert that changes more often than this within the window begins to flap. */
const MOST_CHANGES = 4
/** It flaps until it has changed at most so often within the window. */
const SETTLED_CHANGES = 2
/** The window is this share of the cycle: 20 hours of a month. */
const WINDOW_PARTS = 36

/** Length of the window in milliseconds. */
const flappingMs = ({ startsAt, endsAt }: Cycle): number => (endsAt - startsAt) / WINDOW_PARTS

/** The next state with what is known of its changes. */
export function withChanges(next: AlertState, previous: AlertState, cycle: Cycle, now: number): AlertState {
  const { flapping, changes: before = [], ...rest } = next
  const changes = isFiring(previous) === isFiring(next) ? before : [...before, now].slice(-MOST_CHANGES - 1)
  const recent = changes.filter((at) => at > now - flappingMs(cycle)).length
  const flaps = recent > (flapping === undefined ? MOST_CHANGES : SETTLED_CHANGES)
  return {
    ...rest,
    ...(changes.length > 0 ? { changes } : {}),
    ...(flaps ? { flapping: flapping ?? now } : {}),
  }
}

/** When a flapping alert has settled if it changes no more, epoch milliseconds. */
export function settlesAt({ changes = [] }: AlertState, cycle: Cycle): number {
  const last = changes.at(-SETTLED_CHANGES - 1)
  return last === undefined ? 0 : last + flappingMs(cycle)
}
