/**
 * Instants of a timeline in text form: `+14d12h` after its start. A text covers as much as its last unit: `+8d` is a
 * day, `+7d1m` a minute.
 */
const INSTANT = /^\+(?=\d)(?:(\d{1,4})d)?(?:(\d{1,4})h)?(?:(\d{1,4})m)?(?:(\d{1,4})s)?$/
const UNITS_MS = [86_400_000, 3_600_000, 60_000, 1000]

/** Pattern of instants, for schemas. */
export const INSTANT_PATTERN = INSTANT.source

/** Milliseconds after the start of the timeline. */
export interface InstantRange {
  readonly at: number
  /** First instant after the range. */
  readonly until: number
}

/** Reads an instant. @throws Error for anything else */
export function readInstant(text: string): InstantRange {
  const found = INSTANT.exec(text)
  if (found === null) throw new Error(`not an instant of a timeline: ${text}`)
  const parts = found.slice(1)
  const at = parts.reduce((sum, part, n) => sum + Number(part ?? 0) * (UNITS_MS[n] ?? 0), 0)
  const last = parts.findLastIndex((part) => part !== undefined)
  return { at, until: at + (UNITS_MS[last] ?? 0) }
}

/** An instant in the same words: `+14d12h`. @param ms after the start */
export function instantText(ms: number): string {
  let left = Math.round(ms / 1000) * 1000
  const parts = UNITS_MS.map((unit, n) => {
    const amount = Math.floor(left / unit)
    left -= amount * unit
    return amount === 0 ? '' : `${amount}${'dhms'.charAt(n)}`
  })
  return `+${parts.join('') || '0d'}`
}
