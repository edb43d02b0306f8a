/**
 * Numbers for people: in messages, mails and their subjects. Interfaces and statements give exact ones.
 *
 * A number has three significant digits, and all digits before its point. It is cut, not rounded: 99.96 % is 99.9 %. If
 * it would then read as another value, such as its limit, it gets more digits until they differ.
 */
import { MB, toMoney } from './units.ts'

/** The unit of a number; `times` stands for a ratio, `money` for whole units of the tenant's currency. */
export type Unit = 'MB' | '%' | 'hours' | 'minutes' | 'days' | 'times' | 'money'

/** How many digits a number may have, from the usual to the most that a double has. */
const DIGITS = { least: 3, most: 17 }

const FORMATS = Array.from(
  { length: DIGITS.most },
  (_, n) => new Intl.NumberFormat('en', { maximumSignificantDigits: n + 1, roundingMode: 'trunc' }),
)
const COUNT = new Intl.NumberFormat('en')

/** Writes a number with so many digits. */
type Write = (value: number, digits: number) => string

const cut: Write = (value, digits) => {
  const whole = String(Math.trunc(Math.abs(value))).length
  const format = FORMATS[Math.min(DIGITS.most, Math.max(digits, whole)) - 1] ?? COUNT
  // As text: ICU cuts some doubles a digit too far, 999.9999999999995 to 990. Adding 0 takes the sign from -0.
  return format.format(`${value + 0}`)
}

/** The fewest digits that make a value read differently from the others. */
function digitsApart(write: Write, value: number, others: readonly number[], { least, most } = DIGITS): number {
  const unequal = others.filter((other) => other !== value)
  let digits = least
  while (digits < most && unequal.some((other) => write(other, digits) === write(value, digits))) digits += 1
  return digits
}

/** With one digit more if three are too few, to show the difference: 100.18 of 100 MB, not 100.1. */
function apart(write: Write, value: number, others: readonly number[]): string {
  const digits = digitsApart(write, value, others)
  return write(value, digits === DIGITS.least ? digits : digits + 1)
}

const SIZES = [
  ['GB', 1_000_000_000],
  ['MB', 1_000_000],
  ['kB', 1000],
] as const

const writeBytes: Write = (bytes, digits) => {
  if (bytes === 0) return '0 MB'
  const [unit, size] = SIZES.find(([, least]) => Math.abs(bytes) >= least) ?? ['B', 1]
  return `${cut(bytes / size, digits)} ${unit}`
}

const writePercent: Write = (pct, digits) => `${cut(pct, digits)} %`

/** Whole bytes, cut. A product of doubles may be just below the whole number that it stands for. */
function bytesOf(mb: number): number {
  const nearest = Math.round(mb * MB)
  return nearest / MB > mb ? nearest - 1 : nearest
}

/** A number of MB (10^6 bytes), in B, kB, MB or GB. @param others MB that it must not read as, unless it is that */
export const megabytes = (mb: number, others: readonly number[] = []): string =>
  apart(writeBytes, bytesOf(mb), others.map(bytesOf))

/** Usage and its limit: `2.4 of 3 GB`, `340 MB of 3 GB`. It reads as the limit only if it is equal. */
export function ofLimit(usedMB: number, limitMB: number): string {
  const limit = megabytes(limitMB, [usedMB])
  return `${beforeLimit(usedMB, limitMB)} of ${limit}`
}

/** The text before `of` and a limit: without its unit if the limit has the same. */
export function beforeLimit(usedMB: number, limitMB: number): string {
  const used = megabytes(usedMB, [limitMB])
  const [number = used, unit] = used.split(' ')
  return bytesOf(usedMB) === 0 || megabytes(limitMB, [usedMB]).endsWith(` ${unit}`) ? number : used
}

/** A percentage; it reads as 100 % only if it is. @param others percentages that it must not read as either */
export const percent = (pct: number, others: readonly number[] = []): string =>
  apart(writePercent, pct, [100, ...others])

/** A number without a unit. Whole ones are exact, and ungrouped as ids are. */
export const plainNumber = (value: number, others: readonly number[] = []): string =>
  Number.isSafeInteger(value) ? String(value) : apart(cut, value, others)

/** Money has two digits after its point, and up to millionths only to differ. */
const CENTS = { least: 2, most: 6 }
const writeMoney: Write = (value, digits) =>
  value.toLocaleString('en', { minimumFractionDigits: CENTS.least, maximumFractionDigits: digits })

const PARTS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
  ['ms', 1],
] as const
/** Up to here in hours, because `36 h` is clearer than `1 d 12 h`. */
const HOURS_UP_TO_MS = 2 * 86_400_000
const SHOWN_PARTS = { least: 2, most: PARTS.length }

const writeDuration: Write = (ms, most) => {
  if (ms === 0) return '0 s'
  if (ms < 0) return `-${writeDuration(-ms, most)}`
  const first = PARTS.findIndex(([unit, size]) => ms >= (unit === 'd' ? HOURS_UP_TO_MS : size))
  // Milliseconds only if they are needed to distinguish two durations, or are the only part.
  const shown = PARTS.slice(first, first + most).filter(([unit], n) => n === 0 || unit !== 'ms' || most > 2)
  let left = ms
  return shown
    .flatMap(([unit, size]) => {
      const many = Math.floor(left / size)
      left -= many * size
      return many === 0 ? [] : [`${many} ${unit}`]
    })
    .join(' ')
}

/** A duration by its two largest units, cut: `2 d 4 h`, `36 h`, `48 s`. @param others milliseconds that it must not read as */
export function duration(ms: number, others: readonly number[] = []): string {
  const [value = 0, ...all] = [ms, ...others].map(Math.round)
  return writeDuration(value, digitsApart(writeDuration, value, all, SHOWN_PARTS))
}

const UNIT_MS = { days: 86_400_000, hours: 3_600_000, minutes: 60_000 }

/** Milliseconds in a unit; undefined if it is none of time. */
export const unitMs = (unit: Unit | null): number | undefined =>
  unit === 'days' || unit === 'hours' || unit === 'minutes' ? UNIT_MS[unit] : undefined

/** A number and its unit. @param others numbers of the same unit that it must not read as, unless it is that */
export function quantity(value: number, unit: Unit | null, others: readonly number[] = []): string {
  if (unit === 'MB') return megabytes(value, others)
  if (unit === '%') return percent(value, others)
  if (unit === 'money') return writeMoney(value, digitsApart(writeMoney, value, others, CENTS))
  if (unit === 'days') return `${cut(value, DIGITS.least)} d`
  if (unit === 'times' || unit === null) return plainNumber(value, others)
  const toMs = (number: number) => number * UNIT_MS[unit]
  return duration(toMs(value), others.map(toMs))
}

/** How many there are, exactly: `1,190`. */
export const count = (n: number): string => COUNT.format(n)
export const counted = (n: number, one: string, many = `${one}s`): string => `${count(n)} ${n === 1 ? one : many}`

/** Digits of a currency after its point. */
const digitsOf = (currency: string): number =>
  new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? CENTS.least

/** Formats micro-units as an amount, with as many digits as its currency has: `1,176.52`. @param currency ISO 4217 */
export function amount(micro: number, currency: string): string {
  const digits = digitsOf(currency)
  return toMoney(micro).toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}
/** The same with its currency: `EUR 1,176.52`. */
export const money = (micro: number, currency: string): string => `${currency} ${amount(micro, currency)}`

/** A price in units of its currency, exactly: `EUR 0.0025`, with at least as many digits as the currency has. */
export function price(units: number, currency: string): string {
  const least = digitsOf(currency)
  const digits = { minimumFractionDigits: least, maximumFractionDigits: Math.max(least, CENTS.most) }
  return `${currency} ${units.toLocaleString('en', digits)}`
}
