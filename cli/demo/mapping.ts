/** Chooses the billing cycle of a demonstration, and when its usage is delivered. Pure. */
import { type Cycle, cycleAt, nextCycle } from '../../domain/time/cycle.ts'
import type { Mapping } from './progress.ts'

const DAY_MS = 86_400_000
/** How much of the cycle has passed when SIMs are taken over. */
const PASSED = 0.8
/** Days of a cycle, least and most. Among so many lengths there is one of which about as much has passed. */
const [SHORTEST, LONGEST] = [20, 45]
/** How long the days up to now take. */
const REPLAY_MS = 30_000

/** The billing cycle of whole days of which about 80 % has passed: `P26D`. Cycles are counted from 1970. */
export function billingCycleAt(now: number): string {
  const lengths = Array.from({ length: LONGEST - SHORTEST + 1 }, (_, n) => SHORTEST + n)
  const off = (days: number) => Math.abs(((now / DAY_MS) % days) / days - PASSED)
  return `P${lengths.reduce((best, days) => (off(days) < off(best) ? days : best))}D`
}

/** The running cycle, with its usage up to now delivered within half a minute. */
export function mapDays(cycle: Cycle, now: number): Mapping {
  const days = { from: cycle.startsAt, to: cycle.endsAt }
  return { cycle: { ...cycle }, made: days, onto: days, until: now, delivery: { from: now, to: now + REPLAY_MS } }
}

/** If less of a short cycle is left, a month would be too short to follow. Then the next one is awaited. */
const LEAST_MS = 75_000
/** Time for the usage of the last moments to be evaluated, mailed and acted on before the cycle ends. */
const MARGIN_MS = 20_000

export interface Choice {
  readonly cycle: Cycle
  /** How long to wait for the cycle, in milliseconds; 0 if it is running. */
  readonly waitMs: number
}

/** The short cycle to play in. @param now in epoch milliseconds */
export function chooseCycle(billingCycle: string, now: number): Choice {
  const running = cycleAt(billingCycle, now)
  if (running.endsAt - now >= LEAST_MS) return { cycle: running, waitMs: 0 }
  const cycle = nextCycle(billingCycle, running)
  return { cycle, waitMs: cycle.startsAt - now }
}

/** Maps the days of made usage onto the rest of a short cycle, and delivers each record at its own instant. */
export function mapMonth(cycle: Cycle, now: number, made: Mapping['made']): Mapping {
  const onto = { from: Math.max(now, cycle.startsAt), to: cycle.endsAt - MARGIN_MS }
  return { cycle: { ...cycle }, made, onto, until: onto.to, delivery: onto }
}

const mapped = (at: number, from: Mapping['made'], onto: Mapping['made']): number =>
  onto.from + Math.floor(((at - from.from) / (from.to - from.from)) * (onto.to - onto.from))

/** The mapped instant of an instant in the made days, in epoch milliseconds. Always the same for the same instant. */
export const mapInstant = ({ made, onto }: Mapping, at: number): number => mapped(at, made, onto)

/**
 * When each record is delivered: as its instant lies in the time up to `until`. A record that is late in the carrier's
 * order goes with the latest before it.
 *
 * @param instants mapped, in the carrier's order
 * @returns epoch milliseconds, ascending
 */
export function deliveryTimes({ onto, until, delivery }: Mapping, instants: readonly number[]): number[] {
  let latest = delivery.from
  return instants.map((at) => {
    latest = Math.max(latest, mapped(at, { from: onto.from, to: until }, delivery))
    return latest
  })
}
