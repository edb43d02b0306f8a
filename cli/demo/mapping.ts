/** A month of usage in a few minutes: which cycle it is played in, and where each instant goes. Pure. */
import { type Cycle, cycleAt, nextCycle } from '../../domain/time/cycle.ts'
import type { Mapping } from './progress.ts'

/** With less of a cycle left, the month would be too short to follow: the next one is waited for. */
const LEAST_MS = 120_000
/** What is used in the cycle's last moments is still evaluated, mailed and acted on before it ends. */
const MARGIN_MS = 30_000

export interface Choice {
  readonly cycle: Cycle
  /** How long to wait for it; 0 where it runs. Milliseconds. */
  readonly waitMs: number
}

/** The cycle that is played in, by the instant at which all SIMs are active. */
export function chooseCycle(billingCycle: string, now: number): Choice {
  const running = cycleAt(billingCycle, now)
  if (running.endsAt - now >= LEAST_MS) return { cycle: running, waitMs: 0 }
  const cycle = nextCycle(billingCycle, running)
  return { cycle, waitMs: cycle.startsAt - now }
}

/** Maps a month onto what is left of a cycle, up to half a minute before its end. */
export function mapOnto(cycle: Cycle, now: number, file: Mapping['file']): Mapping {
  const onto = { from: Math.max(now, cycle.startsAt), to: cycle.endsAt - MARGIN_MS }
  return { cycle: { ...cycle }, file, onto }
}

/** Where an instant of the file's month goes: to the millisecond, and always to the same. */
export function mapInstant({ file, onto }: Mapping, at: number): number {
  return onto.from + Math.floor(((at - file.from) / (file.to - file.from)) * (onto.to - onto.from))
}

/**
 * When each row is delivered: with its own instant, or, for one that is late in the file, with the latest before it.
 *
 * @param instants of the rows, in the file's order
 * @returns ascending
 */
export function deliveryTimes(mapping: Mapping, instants: readonly number[]): number[] {
  let latest = mapping.onto.from
  return instants.map((at) => {
    latest = Math.max(latest, mapInstant(mapping, at))
    return latest
  })
}
