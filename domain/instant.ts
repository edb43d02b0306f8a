/** Instants as text. Imports nothing. */

const INSTANT = /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(?:[Zz]|[+-]\d{2}:\d{2})$/
/** 0001-01-01, in epoch milliseconds. PostgreSQL does not accept earlier instants in this form. */
const FIRST_MS = -62_135_596_800_000
/** 10000-01-01, in epoch milliseconds. From there on a year has five digits. */
const END_MS = 253_402_300_800_000

/** Days of a month, 1 to 12. In a year from 2000: Date.UTC reads the years 0 to 99 as 1900 to 1999. */
const daysIn = (year: number, month: number): number => new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate()

/**
 * Epoch milliseconds of an instant in ISO 8601 with an offset. Seconds may be omitted.
 *
 * @returns undefined for any other text. Also for dates and times that do not exist (`2026-11-31`, `24:00`), for leap
 *   seconds, and for years before 1 or after 9999 in UTC
 */
export function instantMs(text: string): number | undefined {
  const found = INSTANT.exec(text)
  if (found === null) return undefined
  const [year = 0, month = 0, day = 0, hour = 0] = found.slice(1).map(Number)
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23) return undefined
  const at = Date.parse(text.toUpperCase().replace(' ', 'T'))
  return at >= FIRST_MS && at < END_MS ? at : undefined
}

/** Whether a text is a day of the calendar, such as `2026-11-30`. False for `2026-11-31`, or a day in year 0. */
export const isDay = (text: string): boolean => instantMs(`${text}T00:00:00Z`) !== undefined && text.length === 10
