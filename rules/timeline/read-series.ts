/**
 * Texts of a timeline. Pure.
 *
 * Series of values, a value a step: `10x9` is nine times 10, `10+5x4` is 10, 15, 20, 25, `10-5x2` is 10, 5. `_` is no
 * value, `_x3` none three times.
 *
 * Instants: `+14d12h` after its start. A text covers as much as its last unit: `+8d` is a day, `+7d1m` a minute.
 */
import { FACTS } from '../facts.ts'

/** Values of a timeline at most: longer ones are a mistake, or an attack. */
export const MOST_STEPS = 1000

const ITEM = /^(?:(_)|(-?\d{1,12}(?:\.\d{1,6})?)(?:([+-])(\d{1,12}(?:\.\d{1,6})?))?)(?:x(\d{1,4}))?$/

export const MOST_CHARS = 4000

/** Reads a series. @returns its values, null for none; or the words that are not a series */
export function readSeries(text: string): { readonly values: readonly (number | null)[] } | { readonly wrong: string } {
  const values: (number | null)[] = []
  for (const word of text.split(/ +/).filter((each) => each !== '')) {
    const found = ITEM.exec(word)
    if (found === null) return { wrong: word }
    const [, none, first, sign, step, times] = found
    if (sign !== undefined && times === undefined) return { wrong: word }
    for (let n = 0; n < Number(times ?? 1); n += 1) {
      if (values.length === MOST_STEPS) return { wrong: `${word}: more than ${MOST_STEPS} values` }
      const change = n * Number(step ?? 0) * (sign === '-' ? -1 : 1)
      values.push(none === undefined ? round(Number(first) + change) : null)
    }
  }
  return values.length === 0 ? { wrong: text } : { values }
}

/** The values of a series; none if it is wrong. */
export function valuesOf(text: string): readonly (number | null)[] {
  const read = readSeries(text)
  return 'values' in read ? read.values : []
}

/** A byte is the millionth of a megabyte. */
const round = (value: number): number => Math.round(value * 1e6) / 1e6

/** Whether a fact is a number; its text is then a series. */
export const isNumeric = (name: string): boolean =>
  Object.entries(FACTS).some(([known, { type }]) => known === name && (type === 'number' || type === 'integer'))

const INSTANT = /^\+(?=\d)(?:(\d{1,4})d)?(?:(\d{1,4})h)?(?:(\d{1,4})m)?(?:(\d{1,4})s)?$/
const UNITS_MS = [86_400_000, 3_600_000, 60_000, 1000]

export const INSTANT_PATTERN = INSTANT.source

/** Reads an instant. @returns milliseconds after the start; `until` is the first after it @throws Error for other text */
export function readInstant(text: string): { readonly at: number; readonly until: number } {
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
