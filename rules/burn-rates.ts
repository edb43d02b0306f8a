/** Definitions of the burn rate facts: how fast an allowance is used. Pure; instants are epoch milliseconds. */
import { type Cycle, daysUntilRenewal } from '../domain/time/cycle.ts'
import { BURN_LONG_SHARE, BURN_SHORT_SHARE } from './facts.ts'

export interface Window {
  readonly bytes: number
  /** Width in milliseconds. It covers whole usage buckets, so it can be a little wider than requested. */
  readonly ms: number
}

export interface UsageWindows {
  readonly usageBytes: number
  readonly limitBytes: number
  readonly short: Window
  readonly long: Window
}

const lengthMs = (cycle: Cycle): number => cycle.endsAt - cycle.startsAt

/** Widths of the two windows of burn rates, in milliseconds. */
export const burnWindowsMs = (cycle: Cycle): { readonly short: number; readonly long: number } => ({
  short: lengthMs(cycle) * BURN_SHORT_SHARE,
  long: lengthMs(cycle) * BURN_LONG_SHARE,
})

/** A time in milliseconds as a share of the cycle's length, in percent. */
export const cyclePct = (cycle: Cycle, ms: number): number => (100 * ms) / lengthMs(cycle)

/** The elapsed part of the cycle at an instant, in percent: 0 to 100. */
export const elapsedPct = (cycle: Cycle, at: number): number =>
  Math.min(100, Math.max(0, cyclePct(cycle, at - cycle.startsAt)))

/** Facts about an instant's place in its cycle. */
export const cycleFacts = (cycle: Cycle, at: number) => ({
  elapsedPct: elapsedPct(cycle, at),
  cycleHours: lengthMs(cycle) / 3_600_000,
  daysUntilRenewal: daysUntilRenewal(cycle, at),
})

/** Rates are given only after this share of the cycle: a few hours predict little about a month. */
export const RATES_FROM_SHARE = 1 / 10

/** Usage as a share of the limit, in percent; null at limit 0. */
export const usagePct = ({ usageBytes, limitBytes }: Pick<UsageWindows, 'usageBytes' | 'limitBytes'>): number | null =>
  limitBytes === 0 ? null : (100 * usageBytes) / limitBytes

/**
 * Facts about the use of a limit: percentages, and rates relative to an even use of the limit. All are null at limit 0.
 * Rates, and so the forecast, are also null in the first tenth of the cycle.
 *
 * @param knownTo end of known usage; it may be before the cycle
 */
export function burnFacts({ usageBytes, limitBytes, short, long }: UsageWindows, cycle: Cycle, knownTo: number) {
  const elapsed = knownTo - cycle.startsAt
  const evenRate = limitBytes / lengthMs(cycle)
  const isTold = limitBytes > 0 && elapsed >= lengthMs(cycle) * RATES_FROM_SHARE
  const ratio = ({ bytes, ms }: Window): number | null =>
    isTold && ms > 0 && elapsed >= ms ? bytes / ms / evenRate : null
  const usedPct = usagePct({ usageBytes, limitBytes })
  const burnLongRatio = ratio(long)
  return {
    usagePct: usedPct,
    burnRatio: ratio({ bytes: usageBytes, ms: elapsed }),
    burnShortRatio: ratio(short),
    burnLongRatio,
    forecastPct:
      usedPct === null || burnLongRatio === null
        ? null
        : usedPct + burnLongRatio * Math.max(0, 100 - cyclePct(cycle, elapsed)),
  }
}
