/** Maps a month of usage onto a few minutes: chooses the cycle and maps each instant. Pure. */
import { type Cycle, cycleAt, nextCycle } from '../../domain/time/cycle.ts'
import type { Mapping } from './progress.ts'

/**
 * If less of a cycle is left, the month would be too short to follow. Then the demonstration waits for the next one.
 */
const LEAST_MS = 120_000
/** Time for the usage of the last moments to be evaluated, mailed and acted on before the cycle ends. */
const MARGIN_MS = 30_000

export interface Choice {
  readonly cycle: Cycle
  /** How long to wait for the cycle, in milliseconds; 0 if it is running. */
  readonly waitMs: number
}

/**
 * The cycle to play in.
 *
 * @param now when all SIMs are active, in epoch milliseconds
 */
export function chooseCycle(billingCycle: string, now: number): Choice {
  const running = cycleAt(billingCycle, now)
  if (running.endsAt - now >= LEAST_MS) return { cycle: running, waitMs: 0 }
  const cycle = nextCycle(billingCycle, running)
  return { cycle, waitMs: cycle.startsAt - now }
}

/** Maps a month onto the rest of a cycle, up to half a minute before its end. */
export function mapOnto(cycle: Cycle, now: number, file: Mapping['file']): Mapping {
  const onto = { from: Math.max(now, cycle.startsAt), to: cycle.endsAt - MARGIN_MS }
  return { cycle: { ...cycle }, file, onto }
}

/**
 * The mapped instant of an instant in the file's month, in epoch milliseconds. Always the same for the same instant.
 */
export function mapInstant({ file, onto }: Mapping, at: number): number {
  return onto.from + Math.floor(((at - file.from) / (file.to - file.from)) * (onto.to - onto.from))
}

/**
 * When each row is delivered: at its own mapped instant. A row that is late in the file goes with the latest before it.
 *
 * @param instants of the rows, in the file's order
 * @returns epoch milliseconds, ascending
 */
export function deliveryTimes(mapping: Mapping, instants: readonly number[]): number[] {
  let latest = mapping.onto.from
  return instants.map((at) => {
    latest = Math.max(latest, mapInstant(mapping, at))
    return latest
  })
}
