/**
 * Series of values, a value a step: `10x9` is nine times 10, `10+5x4` is 10, 15, 20, 25, `10-5x2` is 10, 5. `_` is no
 * value, `_x3` none three times. Pure.
 */
import { FACTS } from '../facts.ts'

/** Values of a timeline at most: longer ones are a mistake, or an attack. */
export const MOST_STEPS = 1000

const ITEM = /^(?:(_)|(-?\d{1,12}(?:\.\d{1,6})?)(?:([+-])(\d{1,12}(?:\.\d{1,6})?))?)(?:x(\d{1,4}))?$/

/** The longest text of a series. */
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

/** A byte is the millionth of a megabyte. */
const round = (value: number): number => Math.round(value * 1e6) / 1e6

/** Whether a fact is a number; its text is then a series. */
export const isNumeric = (name: string): boolean =>
  Object.entries(FACTS).some(([known, { type }]) => known === name && (type === 'number' || type === 'integer'))
