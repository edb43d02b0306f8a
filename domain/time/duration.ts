/** ISO 8601 durations of whole weeks, days, hours and minutes, and of seconds with fractions. Imports nothing. */
const DURATION = /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/

/** A pattern of the same durations for JSON schemas. */
export const DURATION_PATTERN = '^P(?!$)(\\d+W)?(\\d+D)?(T(?=\\d)(\\d+H)?(\\d+M)?(\\d+(\\.\\d+)?S)?)?$'

const PATTERN = new RegExp(DURATION_PATTERN)

/** Whether {@link durationMs} can read a text. */
export const isDuration = (text: string): boolean => PATTERN.test(text)

/**
 * Reads a duration. @returns milliseconds, rounded
 *
 * @throws Error for any other text, including months and years, because their length varies
 */
export function durationMs(text: string): number {
  const found = DURATION.exec(text)
  if (found === null || text === 'P' || text.endsWith('T')) {
    throw new Error(`not an ISO 8601 duration of weeks, days, hours, minutes or seconds: ${text}`)
  }
  const [weeks, days, hours, minutes, seconds] = found.slice(1).map((part) => Number(part ?? 0))
  const allHours = ((weeks ?? 0) * 7 + (days ?? 0)) * 24 + (hours ?? 0)
  return Math.round(((allHours * 60 + (minutes ?? 0)) * 60 + (seconds ?? 0)) * 1000)
}
