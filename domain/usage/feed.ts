/** The usage feed of a tenant: the time since usage was received, and whether it is too long. Pure. */
import type { Cycle } from '../time/cycle.ts'
import { durationMs } from '../time/duration.ts'

/** Known times of a feed. */
export interface FeedTimes {
  /** When the service last received usage, for records of any instant; null: never. */
  readonly receivedAt: Date | null
  /** Start of the longest present activity of a SIM; null: no SIM is Active. */
  readonly activeSince: Date | null
  /** How often usage is received: an ISO 8601 duration. */
  readonly feedEvery: string
}

/** Times are in milliseconds, instants in epoch milliseconds. */
export interface Feed {
  /** Time without usage, though a SIM was Active; null if unknown. */
  readonly ageMs: number | null
  /** The age at which it becomes stale. */
  readonly limitMs: number
  /** Since when it is stale; null if it is not. Without an Active SIM no usage is missed. */
  readonly staleSince: number | null
}

/** A feed is stale after 1.5 times its usual interval; in a shorter cycle after a quarter of the cycle. */
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
