/** The usage feed of a tenant: how long ago usage was received, and whether that is too long. Pure. */
import type { Cycle } from '../time/cycle.ts'
import { durationMs } from '../time/duration.ts'

/** What is known of a feed. */
export interface FeedTimes {
  /** When usage was last received by the service, whatever the records' own instants; null: never. */
  readonly receivedAt: Date | null
  /** Since when the SIM is Active that has been for longest; null: no SIM is. */
  readonly activeSince: Date | null
  /** How often usage is received: an ISO 8601 duration. */
  readonly feedEvery: string
}

/** Times are in milliseconds, instants in epoch milliseconds. */
export interface Feed {
  /** How long nothing was received, though a SIM was Active; null if it cannot be said. */
  readonly ageMs: number | null
  /** The age from which on it is stale. */
  readonly limitMs: number
  /** Since when it is stale; null if it is not. Without an Active SIM no usage is missed. */
  readonly staleSince: number | null
}

/** A feed is stale after one and a half times as long as it takes. A cycle that is shorter: after a quarter of it. */
function limitMs(feedEvery: string, { startsAt, endsAt }: Cycle): number {
  const lengthMs = endsAt - startsAt
  const late = 1.5 * durationMs(feedEvery)
  return late <= lengthMs ? late : lengthMs / 4
}

/** A tenant's feed at an instant (epoch milliseconds), in the cycle of that instant. */
export function feedAt({ receivedAt, activeSince, feedEvery }: FeedTimes, cycle: Cycle, at: number): Feed {
  const limit = limitMs(feedEvery, cycle)
  const instants = [receivedAt, activeSince].flatMap((instant) => (instant === null ? [] : instant.getTime()))
  const from = Math.max(...instants)
  const ageMs = instants.length === 0 ? null : Math.max(0, at - from)
  const isStale = activeSince !== null && ageMs !== null && ageMs >= limit
  return { ageMs, limitMs: limit, staleSince: isStale ? from + limit : null }
}
