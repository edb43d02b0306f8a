/**
 * The example month as dated steps: October 2026 of `examples/`, hour by hour, with two troubles that its file does not
 * have. No record comes for forty hours, and then all at once; and a SIM that was over its limit is corrected. Pure.
 */
import { demoEstate } from '../../examples/estate.ts'
import { type Line, linesOf, shippedFile } from '../unit/examples/usage-sums.ts'

const HOUR_MS = 3_600_000

/** `[startsAt, endsAt)` in epoch milliseconds. */
export const EXAMPLE_MONTH = { startsAt: Date.UTC(2026, 9, 1), endsAt: Date.UTC(2026, 10, 1) } as const
/** Nothing is received in it: longer than the 36 hours after which the feed is stale. */
const OUTAGE = { startsAt: Date.UTC(2026, 9, 13, 20), endsAt: Date.UTC(2026, 9, 15, 12) } as const
/** A household meter that has been over its limit for days is put right. */
const CORRECTED_AT = Date.UTC(2026, 9, 24, 9)

/** A record to deliver: of the file, or a correction, whose bytes are below 0. */
export type MonthRecord = Pick<Line, 'id' | 'iccid' | 'at' | 'bytes' | 'imei'>

export interface MonthStep {
  /** When its records have come, in epoch milliseconds. Whole hours, in order. */
  readonly at: number
  readonly records: readonly MonthRecord[]
}

export interface ExampleMonth {
  readonly estate: ReturnType<typeof demoEstate>
  readonly steps: readonly MonthStep[]
}

/** The same month each time. A record that is late in the file comes with the latest before it. */
export function exampleMonth(): ExampleMonth {
  const estate = demoEstate()
  const lines = linesOf(shippedFile())
  let latest: number = EXAMPLE_MONTH.startsAt
  const deliveries = lines.map((line) => {
    latest = Math.max(latest, line.at)
    const isHeldUp = latest >= OUTAGE.startsAt && latest < OUTAGE.endsAt
    return { line, hour: Math.floor((isHeldUp ? OUTAGE.endsAt : latest) / HOUR_MS) }
  })
  const byHour = Map.groupBy(deliveries, ({ hour }) => hour)
  const hours = (EXAMPLE_MONTH.endsAt - EXAMPLE_MONTH.startsAt) / HOUR_MS
  const steps = Array.from({ length: hours }, (_, n): MonthStep => {
    const from = EXAMPLE_MONTH.startsAt + n * HOUR_MS
    const records: MonthRecord[] = (byHour.get(from / HOUR_MS) ?? []).map(({ line }) => line)
    return { at: from + HOUR_MS, records: from === CORRECTED_AT ? [...records, correction(estate, lines)] : records }
  })
  return { estate, steps }
}

/** Takes back what a SIM has used above half its limit of 100 MB: it was counted wrongly. */
function correction({ sims }: ExampleMonth['estate'], lines: readonly Line[]): MonthRecord {
  const [sim] = sims
    .filter(({ pool, isWatchdogExempt }) => pool === 'households' && isWatchdogExempt !== true)
    .toSorted((a, b) => b.device.monthBytes - a.device.monthBytes)
  if (sim === undefined) throw new Error('the estate has no household meter')
  const known = new Map(lines.filter(({ iccid, at }) => iccid === sim.iccid && at < CORRECTED_AT).map((l) => [l.id, l]))
  const used = [...known.values()].reduce((sum, { bytes }) => sum + bytes, 0)
  return { id: 'correction-1', iccid: sim.iccid, at: CORRECTED_AT, bytes: 50_000_000 - used, imei: sim.device.imei }
}
