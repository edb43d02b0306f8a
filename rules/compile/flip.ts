/**
 * When time alone may change a comparison. The bound is a lower one: until then the answer stays. Pure; instants are
 * epoch milliseconds.
 *
 * Facts that fall or that others move have no such bound. They are looked at again `LOOKS_PER_CYCLE` times a cycle, and
 * count as unmoved between two looks. So do facts that expire, while they are true.
 */

import type { TariffType } from '../../domain/codes.ts'
import type { OperatorName } from '../../domain/rules/operators.ts'
import { type Cycle, lengthMs } from '../../domain/time/cycle.ts'
import type { FactValue } from '../../domain/watchdog/fact-value.ts'
import type { Scalar } from '../conditions.ts'
import type { Fact } from '../facts.ts'
import type { FactRow } from './fact-row.ts'

/** How often in a cycle facts are read again that fall, or that others move. */
export const LOOKS_PER_CYCLE = 720

/** The bound of what time alone never changes. */
export const NEVER = Number.POSITIVE_INFINITY

/** The instant that a row is of, in whole milliseconds, and its cycle. */
export interface FlipMoment {
  readonly now: number
  readonly cycle: Cycle
}

/** When such facts are read again, epoch milliseconds. */
export const nextLookAt = ({ now, cycle }: FlipMoment): number => now + lengthMs(cycle) / LOOKS_PER_CYCLE

/**
 * The earliest instant at which time alone may change an answer; {@link NEVER} if it cannot. Facts that were not read
 * may have any value.
 *
 * @param tariffs bit of the governing tariff of a SIM ({@link tariffBit}); 0 without one, and for other subjects
 */
export type FlipAt = (row: FactRow, moment: FlipMoment, tariffs: number) => number

/** The bit of a type of tariff; 0 without one. */
export const tariffBit = (type: TariffType | null): number => (type === null ? 0 : 1 << type)

/** The other operand of a comparison: a value, a list, or the fact at a place. */
export type OtherOperand =
  | { readonly value: Scalar | readonly Scalar[] }
  | { readonly fact: Fact; readonly place: number }

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

/** The rise of an ageing fact in a millisecond, by its unit. */
export function agingRate({ unit, name }: Fact, cycle: Cycle): number {
  if (unit === '%') return 100 / lengthMs(cycle)
  if (unit === 'hours') return 1 / HOUR_MS
  if (unit === 'minutes') return 1 / MINUTE_MS
  throw new Error(`the fact ${name} ages, and its unit is ${unit}; expected %, hours or minutes`)
}

/** Tariff bits under which a fact is read again `LOOKS_PER_CYCLE` times; 0: none, null: all. */
function sampledUnder({ withTime, movedUnder }: Fact): number | null {
  if (withTime === 'falls') return null
  if (withTime !== 'elsewhere') return 0
  return movedUnder?.reduce<number>((bits, type) => bits | tariffBit(type), 0) ?? null
}

/** When a comparison may flip. @returns null if time alone never flips it */
export function flipOf(operator: OperatorName, fact: Fact, place: number, other: OtherOperand): FlipAt | null {
  const read = [{ fact, place }, ...('fact' in other ? [other] : [])]
  const flips = [
    samplingOf(read.map((one) => one.fact)),
    ...read.map((one) => (one.fact.withTime === 'expires' ? expiryOf(one.place) : null)),
    agingOf(operator, fact, place, other),
  ].filter((flip) => flip !== null)
  const [first = null, ...rest] = flips
  if (rest.length === 0) return first
  return (row, moment, tariffs) => Math.min(...flips.map((flip) => flip(row, moment, tariffs)))
}

/** An expired fact stays false until an event of its subject. */
const expiryOf =
  (place: number): FlipAt =>
  (row, moment) =>
    row[place] === false ? NEVER : nextLookAt(moment)

function samplingOf(facts: readonly Fact[]): FlipAt | null {
  const under = facts.map(sampledUnder)
  if (under.includes(null)) return (_, moment) => nextLookAt(moment)
  const bits = under.reduce<number>((all, each) => all | (each ?? 0), 0)
  return bits === 0 ? null : (_, moment, tariffs) => ((tariffs & bits) === 0 ? NEVER : nextLookAt(moment))
}

function agingOf(operator: OperatorName, fact: Fact, place: number, other: OtherOperand): FlipAt | null {
  const ages = fact.withTime === 'ages'
  const otherAging = 'fact' in other && other.fact.withTime === 'ages' ? other.fact : null
  // An ageing fact that is null stays null; a known one stays known.
  if (operator === 'known' || (!ages && otherAging === null)) return null
  const crossing = crossingBy(operator)
  const operands = 'fact' in other ? [] : [other.value].flat()
  return (row, { now, cycle }) => {
    const rate = ages ? agingRate(fact, cycle) : 0
    const otherRate = otherAging === null ? 0 : agingRate(otherAging, cycle)
    let ms = 'fact' in other ? crossing(row[place], row[other.place], rate, otherRate) : NEVER
    for (const operand of operands) ms = Math.min(ms, crossing(row[place], operand, rate, otherRate))
    // Rounded down, so the rounding of facts is never earlier.
    return Math.floor(now + ms)
  }
}

/**
 * Makes the function that returns in how many milliseconds the order of two values may change, or whether they are
 * equal. The first rises by at most `rate` in a millisecond, the second by at most `otherRate`.
 */
function crossingBy(operator: OperatorName) {
  return (a: FactValue | undefined, b: FactValue | undefined, rate: number, otherRate: number): number => {
    if (a === undefined || b === undefined) return 0
    if (typeof a !== 'number' || typeof b !== 'number') return NEVER
    if (a < b) return meeting(b - a, rate)
    if (a > b) return meeting(a - b, otherRate)
    // They are equal, or one is NaN and stays it.
    if (a !== b) return NEVER
    switch (operator) {
      case 'greaterThan':
      case 'lessThanInclusive':
        return meeting(0, rate)
      case 'lessThan':
      case 'greaterThanInclusive':
        return meeting(0, otherRate)
      case 'equal':
      case 'notEqual':
      case 'in':
      case 'notIn':
      case 'known':
        return meeting(0, Math.max(rate, otherRate))
    }
  }
}

/** The time in which a distance is closed at a rate. */
const meeting = (distance: number, rate: number): number => (rate === 0 ? NEVER : distance / rate)
