/** Instants as text. Imports nothing. */

const INSTANT = /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(?:[Zz]|[+-]\d{2}:\d{2})$/
/** 0001-01-01: before it PostgreSQL has no such text. */
const FIRST_MS = -62_135_596_800_000
/** 10000-01-01: from there a year has five digits. */
const END_MS = 253_402_300_800_000

/** The calendar repeats itself after 400 years; a date of the years 0 to 99 would be read as one of this century. */
const daysIn = (year: number, month: number): number => new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate()

/**
 * Epoch milliseconds of an instant in ISO 8601 with its offset; seconds may be left out.
 *
 * @returns undefined for anything else, and for what no calendar or clock has: `2026-11-31`, `24:00`, leap seconds, and
 *   years before 1 or of five digits in UTC
 */
export function instantMs(text: string): number | undefined {
  const found = INSTANT.exec(text)
  if (found === null) return undefined
  const [year = 0, month = 0, day = 0, hour = 0] = found.slice(1).map(Number)
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23) return undefined
  const at = Date.parse(text.toUpperCase().replace(' ', 'T'))
  return at >= FIRST_MS && at < END_MS ? at : undefined
}

/** Whether a text is a day of the calendar: `2026-11-30`, and neither `2026-11-31` nor one of the year 0. */
export const isDay = (text: string): boolean => instantMs(`${text}T00:00:00Z`) !== undefined && text.length === 10
