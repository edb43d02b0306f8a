/** Usage over the running billing cycle: of a SIM, a pool, or all SIMs. */
import { instant } from '../../domain/local-time.ts'
import type { CycleInfo } from '../../domain/month-end/month-end.ts'
import { megabytes } from '../../domain/quantity.ts'
import { MB } from '../../domain/units.ts'
import { LONGEST_SERIES_MS, STEPS, type UsageSeries } from '../../domain/usage/usage-series.ts'
import { type Part, tryAnswer } from '../answers.ts'
import type { Calls } from '../calls.ts'
import { type Bar, barChart } from './chart.ts'
import type { Html } from './html.ts'

type Step = keyof typeof STEPS

const HOUR = STEPS.PT1H
/** A cycle has at most 72 bars: days, hours of up to three days, or five minutes of up to six hours. */
const stepOf = (lengthMs: number): Step => (lengthMs > 72 * HOUR ? 'P1D' : lengthMs > 6 * HOUR ? 'PT1H' : 'PT5M')

type Span = Pick<CycleInfo, 'startsAt' | 'endsAt'>

/** Whose usage: a SIM's, a pool's, or else of all SIMs. */
interface Of {
  readonly simId?: number
  readonly poolId?: number
}

/** Usage in a cycle. Of one that is longer than a series may be, its end. */
export function readUsage(calls: Calls, of: Of, { startsAt, endsAt }: Span): Promise<Part<UsageSeries>> {
  const end = Date.parse(endsAt)
  const start = Math.max(Date.parse(startsAt), end - LONGEST_SERIES_MS)
  const query = { ...of, from: new Date(start).toISOString(), to: endsAt, step: stepOf(end - start) }
  return tryAnswer(calls.inside.GET('/internal/usage', { params: { query } }))
}

/** The cycle that runs now. The next one may be there before it begins. @param now epoch milliseconds */
export const runningOf = (cycles: readonly CycleInfo[], now: number): CycleInfo | undefined =>
  cycles.find(({ startsAt, endsAt }) => Date.parse(startsAt) <= now && now < Date.parse(endsAt))

interface CycleUsage {
  readonly cycle?: CycleInfo
  readonly series: Part<UsageSeries>
}

/** The running cycle, and usage in it. */
export async function readCycleUsage(calls: Calls, of: Of, now: number): Promise<CycleUsage> {
  const cycles = await tryAnswer(calls.inside.GET('/internal/cycles'))
  if (cycles === null || 'missing' in cycles) return { series: cycles }
  const cycle = runningOf(cycles.data, now)
  if (cycle === undefined) return { series: { missing: 'The running cycle is not open yet.' } }
  return { cycle, series: await readUsage(calls, of, cycle) }
}

const WORDS: Readonly<Record<Step, string>> = { P1D: 'Day', PT1H: 'Hour', PT5M: 'Time' }
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
const TIME = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: 'UTC' })

/** The end of a cycle, briefly: its last day in UTC, or the instant if it ends within one. */
export function endWords({ startsAt, endsAt }: Span): string {
  const [from, to] = [Date.parse(startsAt), Date.parse(endsAt)]
  return stepOf(to - from) === 'P1D' && to % STEPS.P1D === 0 ? DAY.format(to - 1) : instant(endsAt)
}

export function usageChart({ step, points }: UsageSeries): Html {
  const format = step === 'P1D' ? DAY : TIME
  const bars = points.map(({ at, bytes }): Bar => ({ label: format.format(new Date(at)), value: bytes / MB }))
  return barChart({ caption: 'Usage', bars, write: megabytes, steps: `${WORDS[step]} in UTC` })
}
