/** Instants for people: ISO 8601 in a tenant's time zone, to the minute, followed by UTC. */

const zones = new Map<string, Intl.DateTimeFormat>()

/** @throws RangeError if there is no such zone */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = zones.get(timeZone)
  if (known !== undefined) return known
  const format = new Intl.DateTimeFormat('en', {
    timeZone,
    calendar: 'iso8601',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    timeZoneName: 'longOffset',
  })
  zones.set(timeZone, format)
  return format
}

/** Whether there is a time zone with this IANA name. */
function isTimeZone(timeZone: string): boolean {
  try {
    return formatOf(timeZone) !== undefined
  } catch {
    return false
  }
}

/** What is wrong with the name of a time zone, in words; undefined if there is one with it. */
export const zoneFault = (timeZone: string): string | undefined =>
  isTimeZone(timeZone) ? undefined : `got ${timeZone}, expected the IANA name of a time zone, such as Europe/Berlin`

interface Local {
  /** `2026-11-21` */
  readonly day: string
  /** `09:40` */
  readonly time: string
  /** `+01:00`; `UTC` for no offset. */
  readonly offset: string
}

function localOf(at: Date, timeZone: string): Local {
  const parts = formatOf(timeZone).formatToParts(at)
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.find((one) => one.type === type)?.value ?? ''
  return {
    day: `${part('year').padStart(4, '0')}-${part('month')}-${part('day')}`,
    time: `${part('hour')}:${part('minute')}`,
    offset: part('timeZoneName')
      .replace(/^GMT([+-]00:00)?$/, 'UTC')
      .replace('GMT', ''),
  }
}

/** A day in a time zone, and the time in it. */
export interface LocalDay {
  /** `2026-11-21` */
  readonly day: string
  /** Its first instant, epoch milliseconds. */
  readonly startsAt: number
  /** The hour at the instant that was asked about, 0 to 23. */
  readonly hour: number
  /** 1 (Monday) to 7 (Sunday), as in ISO 8601. */
  readonly weekday: number
}

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

/** What the clock of a zone shows at an instant, in milliseconds as if it were of UTC. Offsets are whole minutes. */
function wallClock(at: number, zone: string): number {
  if (zone === 'UTC') return at
  const { day, time } = localOf(new Date(at), zone)
  return Date.parse(`${day}T${time}Z`) + at - Math.floor(at / MINUTE_MS) * MINUTE_MS
}

/** The day that an instant (epoch milliseconds) is in. @param timeZone as of {@link instant} */
export function localDay(at: number, timeZone: string): LocalDay {
  const zone = isTimeZone(timeZone) ? timeZone : 'UTC'
  const now = wallClock(at, zone)
  const midnight = Math.floor(now / DAY_MS) * DAY_MS
  const start = at - (now - midnight)
  // If the clocks have changed since, it began so much later or earlier.
  const startsAt = start + midnight - 1 - wallClock(start - 1, zone)
  const date = new Date(midnight)
  const hour = Math.floor((now - midnight) / HOUR_MS)
  return { day: date.toISOString().slice(0, 10), startsAt, hour, weekday: date.getUTCDay() || 7 }
}

/**
 * The instant (epoch milliseconds) of a time on a day. A time that the clocks skip is one of the hour after it.
 *
 * @param day `2026-11-21`
 * @param time `09:40`
 * @param timeZone as of {@link instant}
 */
export function localInstant(day: string, time: string, timeZone: string): number {
  const zone = isTimeZone(timeZone) ? timeZone : 'UTC'
  const wall = Date.parse(`${day}T${time}Z`)
  const near = wall - (wallClock(wall, zone) - wall)
  return wall - (wallClock(near, zone) - near)
}

/**
 * An instant in a time zone, followed by UTC: `2026-11-21 09:40 +01:00 (08:40 UTC)`.
 *
 * @param at epoch milliseconds, or ISO 8601; any other text is returned unchanged
 * @param timeZone IANA name; UTC if there is no such zone, because a notice must not fail for it
 */
export function instant(at: number | string, timeZone = 'UTC'): string {
  const date = new Date(at)
  if (Number.isNaN(date.getTime())) return String(at)
  const here = localOf(date, isTimeZone(timeZone) ? timeZone : 'UTC')
  if (here.offset === 'UTC') return written(here)
  const utc = localOf(date, 'UTC')
  return `${written(here)} (${utc.day === here.day ? '' : `${utc.day} `}${utc.time} UTC)`
}

/** The same without UTC, for short texts: `2026-11-21 09:40 +01:00`. */
export const shortInstant = (at: number | string, timeZone: string): string =>
  instant(at, timeZone).replace(/ \(.*\)$/, '')

const MONTH = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' })

/**
 * A billing cycle for people: `November 2026`; one of days or less by its ends in a time zone: `25 Nov 2026,
 * 09:25–09:30`.
 *
 * @param cycle with its ends in ISO 8601
 * @param timeZone as of {@link instant}
 */
export function cycleName(
  { key, startsAt, endsAt }: { readonly key: string; readonly startsAt: string; readonly endsAt: string },
  timeZone: string,
): string {
  if (/^\d{4}-\d{2}$/.test(key)) return MONTH.format(new Date(startsAt))
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: isTimeZone(timeZone) ? timeZone : 'UTC',
    dateStyle: 'medium',
    timeStyle: 'short',
  })
  return format.formatRange(new Date(startsAt), new Date(endsAt))
}

const written = ({ day, time, offset }: Local): string => `${day} ${time} ${offset}`
