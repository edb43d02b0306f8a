/**
 * Billing cycles: calendar months in UTC, or a fixed duration aligned to 1970-01-01T00:00Z.
 *
 * Imports nothing and reads no clock, because it is part of the workflow bundle. Instants are epoch milliseconds. A
 * cycle is `[startsAt, endsAt)`. Its key is its start: `2026-11`, or `20261121T0210Z`.
 */
export interface Cycle {
  /** Start of the cycle as text. The keys of one tenant sort by time. */
  readonly key: string
  readonly startsAt: number
  readonly endsAt: number
}

const UNIT_MS = { D: 86_400_000, H: 3_600_000, M: 60_000 } as const
const DAY_MS = UNIT_MS.D
const FIXED = /^P(?:(\d{1,4})D|T(\d{1,4})([HM]))$/

/** Length of a billing cycle: `'month'`, or milliseconds. */
export type CycleLength = 'month' | number

/** Reads `P1M`, or whole days, hours or minutes (`P7D`, `PT6H`, `PT5M`). @returns undefined for others, and zero */
export function parseBillingCycle(text: string): CycleLength | undefined {
  if (text === 'P1M') return 'month'
  const found = FIXED.exec(text)
  if (found === null) return undefined
  const [, days, amount, unit] = found
  const ms = days === undefined ? Number(amount) * (unit === 'H' ? UNIT_MS.H : UNIT_MS.M) : Number(days) * DAY_MS
  return ms > 0 ? ms : undefined
}

/** @throws Error if `billingCycle` is malformed */
export function lengthOfCycle(billingCycle: string): CycleLength {
  const length = parseBillingCycle(billingCycle)
  if (length === undefined) throw new Error(`not a billing cycle: ${billingCycle}`)
  return length
}

const two = (n: number) => String(n).padStart(2, '0')

function fixedCycle(startsAt: number, lengthMs: number): Cycle {
  const d = new Date(startsAt)
  const day = `${d.getUTCFullYear()}${two(d.getUTCMonth() + 1)}${two(d.getUTCDate())}`
  return { key: `${day}T${two(d.getUTCHours())}${two(d.getUTCMinutes())}Z`, startsAt, endsAt: startsAt + lengthMs }
}

function monthCycle(year: number, month: number): Cycle {
  const startsAt = Date.UTC(year, month, 1)
  const d = new Date(startsAt)
  return { key: `${d.getUTCFullYear()}-${two(d.getUTCMonth() + 1)}`, startsAt, endsAt: Date.UTC(year, month + 1, 1) }
}

/**
 * The cycle that contains an instant. A boundary belongs to the cycle that begins there.
 *
 * @param at epoch milliseconds
 * @throws Error if `billingCycle` is malformed
 */
export function cycleAt(billingCycle: string, at: number): Cycle {
  const length = lengthOfCycle(billingCycle)
  if (length !== 'month') return fixedCycle(Math.floor(at / length) * length, length)
  const d = new Date(at)
  return monthCycle(d.getUTCFullYear(), d.getUTCMonth())
}

export const lengthMs = ({ startsAt, endsAt }: Cycle): number => endsAt - startsAt

export const nextCycle = (billingCycle: string, cycle: Cycle): Cycle => cycleAt(billingCycle, cycle.endsAt)

export const previousCycle = (billingCycle: string, cycle: Cycle): Cycle => cycleAt(billingCycle, cycle.startsAt - 1)

/**
 * The cycle with this key, for a tenant with this billing cycle.
 *
 * @returns undefined if the key is malformed, or no cycle of this length begins there
 * @throws Error if `billingCycle` is malformed
 */
export function cycleOfKey(billingCycle: string, key: string): Cycle | undefined {
  const month = /^(\d{4})-(\d{2})$/.exec(key)
  const fixed = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})Z$/.exec(key)
  const found = month ?? fixed
  if (found === null) return undefined
  const [year, mon, day, hour, minute] = found.slice(1).map(Number)
  const cycle = cycleAt(billingCycle, Date.UTC(year ?? 0, (mon ?? 1) - 1, day ?? 1, hour ?? 0, minute ?? 0))
  return cycle.key === key ? cycle : undefined
}

/** Days from an instant (epoch milliseconds) to the end of its cycle, rounded up; 0 after the end. */
export const daysUntilRenewal = ({ endsAt }: Pick<Cycle, 'endsAt'>, at: number): number =>
  Math.max(0, Math.ceil((endsAt - at) / DAY_MS))

/**
 * Width of a usage bucket in milliseconds: 5 minutes. For cycles shorter than a day it is a sixtieth of the cycle, but
 * at least a second. Buckets are aligned to 1970, and feed the facts over windows (usage of 24 hours, burn rates).
 *
 * @throws Error if `billingCycle` is malformed
 */
export function bucketMs(billingCycle: string): number {
  const length = lengthOfCycle(billingCycle)
  return length === 'month' || length >= DAY_MS ? 5 * UNIT_MS.M : Math.max(1000, Math.floor(length / 60))
}
