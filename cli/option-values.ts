/**
 * Parsers for the values of options, used when the command line is parsed.
 *
 * Each throws InvalidArgumentError for a value out of range.
 */
import { InvalidArgumentError } from 'commander'

export function port(text: string): number {
  const value = Number(text)
  if (!/^\d{1,5}$/.test(text) || value < 1 || value > 65_535) {
    throw new InvalidArgumentError('It must be a port, 1 to 65535.')
  }
  return value
}

export function portOrOff(text: string): string {
  return text === 'off' ? text : String(port(text))
}

export function id(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError('It must be an id, a positive integer.')
  return Number(text)
}

/** Days of the week, 1 (Monday) to 7 (Sunday): `1,2,3`. */
export function weekdays(text: string): number[] {
  const days = text.split(',').map(Number)
  if (/^[1-7](,[1-7])*$/.test(text) && new Set(days).size === days.length) return days
  throw new InvalidArgumentError('It must be days of the week, 1 (Monday) to 7 (Sunday): 1,2,3,4,5.')
}

/** An Idempotency-Key that needs no quotes on a command line. */
export function idempotencyKey(text: string): string {
  if (/^[\w.:-]{1,255}$/.test(text)) return text
  throw new InvalidArgumentError('It must be 1 to 255 characters: letters, digits, or any of . : _ -')
}

const numberLike = (pattern: RegExp, what: string) => (least: number, most: number) => (text: string) => {
  const value = Number(text)
  if (pattern.test(text) && value >= least && value <= most) return value
  throw new InvalidArgumentError(`It must be ${what}, ${least} to ${most}.`)
}

/** A whole number from `least` to `most`. */
export const wholeNumber = numberLike(/^\d{1,9}$/, 'a whole number')
/** A number from `least` to `most` that may have a fraction, as in 2.5. */
export const decimal = numberLike(/^\d{1,9}(\.\d{1,9})?$/, 'a number')
