/** Times of the week at which a silence holds. As mute timings of Grafana and of Prometheus' Alertmanager. */
import { type Static, Type } from 'typebox'
import { localDay, localInstant } from '../local-time.ts'
import { strictObject } from '../schema.ts'

const TIME = '^([01]\\d|2[0-3]):[0-5]\\d$'

export const WeekTime = strictObject({
  days: Type.Optional(
    Type.Array(Type.Integer({ minimum: 1, maximum: 7 }), {
      minItems: 1,
      maxItems: 7,
      uniqueItems: true,
      description: 'Days on which it begins: 1 (Monday) to 7 (Sunday); left out: each day',
      examples: [[1, 2, 3, 4, 5]],
    }),
  ),
  from: Type.String({
    pattern: TIME,
    description: 'Time of the day at which it begins, 00:00 to 23:59',
    examples: ['22:00'],
  }),
  to: Type.String({
    pattern: TIME,
    description: 'Time of the day at which it ends, 00:00 to 23:59; unless later than `from`, on the next day',
    examples: ['06:00'],
  }),
})
export type WeekTime = Static<typeof WeekTime>

const DAY_MS = 86_400_000
const WEEK_MS = 7 * DAY_MS

/**
 * Until when a silence holds, epoch milliseconds; null if it does not hold at this instant. Times that follow each other
 * without a gap are one. One that holds always is asked about again after a week.
 *
 * @param timeZone IANA name
 */
export function heldUntil(times: readonly WeekTime[], timeZone: string, at: number): number | null {
  let until = at
  for (let end: number | null = at; end !== null && until - at < WEEK_MS; end = endOfTime(times, timeZone, until))
    until = end
  return until === at ? null : until
}

/** The latest end of the times that an instant is in; null if it is in none. */
function endOfTime(times: readonly WeekTime[], timeZone: string, at: number): number | null {
  const { day: today } = localDay(at, timeZone)
  const ends = times.flatMap(({ days, from, to }) => {
    const isOvernight = to <= from
    return (isOvernight ? [today, dayAfter(today, -1)] : [today]).flatMap((day) => {
      if (days !== undefined && !days.includes(weekdayOf(day))) return []
      if (localInstant(day, from, timeZone) > at) return []
      const end = localInstant(isOvernight ? dayAfter(day, 1) : day, to, timeZone)
      return at < end ? [end] : []
    })
  })
  return ends.length === 0 ? null : Math.max(...ends)
}

const dayAfter = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10)
const weekdayOf = (day: string): number => new Date(day).getUTCDay() || 7

/** Times for people: `22:00–06:00 on Mon, Tue`, `00:00–24:00 on Sun`. */
export const inWords = (times: readonly WeekTime[]): string =>
  times
    .map(({ days, from, to }) => {
      const named = days?.toSorted().map((day) => NAMES[day - 1])
      return `${from}–${to === '00:00' ? '24:00' : to}${named === undefined ? '' : ` on ${named.join(', ')}`}`
    })
    .join('; ')

const NAMES = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const
