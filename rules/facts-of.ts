/** Computes the facts of subjects at an instant, from rows: those that the store has read, or those of a timeline. */
import { labelOf, SimStatus, TariffType } from '../domain/codes.ts'
import { bucketMs, type Cycle } from '../domain/time/cycle.ts'
import { toMB, toMinutes, toMoney } from '../domain/units.ts'
import { type Feed, feedAt } from '../domain/usage/feed.ts'
import { settingsInForce } from '../domain/watchdog/settings.ts'
import { burnFacts, burnWindowsMs, cycleFacts, cyclePct, RATES_FROM_SHARE } from './burn-rates.ts'
import type {
  FeedRow,
  JudgedFigures,
  OverageCharges,
  PoolFactRow,
  PoolScan,
  SimRow,
  TenantFactRow,
  TicketCounts,
  WindowSums,
  Windows,
} from './fact-rows.ts'
import type { PoolFacts, SimFacts, TenantFacts } from './facts.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
/** A SIM counts as silent in its pool after this share of the cycle's length without activity. */
export const SILENT_SHARE = 0.1
/** Tickets that ended within this share of the cycle's length are counted. */
export const TICKETS_SHARE = 1 / 30
/** How long a SIM counts as found in another device: a thirtieth of the cycle, a day of a month. Milliseconds. */
export const deviceMs = ({ startsAt, endsAt }: Cycle): number => (endsAt - startsAt) / 30

/** What a moment is made of: an instant (epoch milliseconds), a cycle, and the tenant's usage feed. */
interface Instant {
  readonly at: number
  readonly cycle: Cycle
  readonly billingCycle: string
  readonly feedTimes: FeedRow
}

/** The instant of an evaluation, and what follows from it for all subjects of a tenant. */
export interface Moment extends Instant {
  /** The instant that the facts are of: that of the evaluation, or the end of the cycle if it has ended. */
  readonly asOf: number
  /** The cycle has ended. Its alerts are told, and nothing is done about them. */
  readonly isEnded: boolean
  readonly feed: Feed
  /** The instant up to which usage is known, epoch milliseconds: rates and windows are as of it. */
  readonly knownTo: number
  /** Starts of the windows, each rounded down to the start of a usage bucket. */
  readonly windows: Windows
}

/** The moment of an evaluation in its cycle. */
export function momentOf(of: Instant): Moment {
  const { at, cycle, billingCycle, feedTimes } = of
  const asOf = Math.min(at, cycle.endsAt)
  const knownTo = Math.min(asOf, feedTimes.newestAt?.getTime() ?? asOf)
  const feed = feedAt(feedTimes, cycle, at)
  const windows = windowsUpTo(knownTo, cycle, billingCycle)
  return { at, cycle, billingCycle, feedTimes, asOf, isEnded: at >= cycle.endsAt, feed, knownTo, windows }
}

function windowsUpTo(knownTo: number, cycle: Cycle, billingCycle: string): Windows {
  const width = bucketMs(billingCycle)
  const start = (ms: number) => new Date(Math.floor((knownTo - ms) / width) * width)
  const { short, long } = burnWindowsMs(cycle)
  const day = 24 * HOUR_MS
  return {
    short: start(short),
    long: start(long),
    day: start(day),
    week: start(7 * day),
    until: new Date(cycle.endsAt),
  }
}

const since = (from: Date | null, at: number): number | null =>
  from === null ? null : Math.max(0, at - from.getTime())
const over = (ms: number | null, unit: number): number | null => (ms === null ? null : ms / unit)

const burnFactsOf = (
  row: {
    readonly usageBytes: number
    readonly limitBytes: number
    readonly shortBytes: number
    readonly longBytes: number
  },
  { knownTo, cycle, windows }: Moment,
) =>
  burnFacts(
    {
      usageBytes: row.usageBytes,
      limitBytes: row.limitBytes,
      short: { bytes: row.shortBytes, ms: knownTo - windows.short.getTime() },
      long: { bytes: row.longBytes, ms: knownTo - windows.long.getTime() },
    },
    cycle,
    knownTo,
  )

const amountsOf = (row: {
  readonly usageBytes: number
  readonly limitBytes: number
  readonly remainingBytes: number
  readonly overageBytes: number
}) => ({
  usageMB: toMB(row.usageBytes),
  limitMB: toMB(row.limitBytes),
  remainingMB: toMB(row.remainingBytes),
  overageMB: toMB(row.overageBytes),
})

const pctOf = ({
  usageBytes,
  limitBytes,
}: {
  readonly usageBytes: number
  readonly limitBytes: number
}): number | null => (limitBytes === 0 ? null : (100 * usageBytes) / limitBytes)

/** The facts of a SIM. Units are in their names (MB, minutes, hours, percent); null if not known. Pure. */
export function simFactsOf(row: SimRow & JudgedFigures & WindowSums, moment: Moment): SimFacts {
  const { asOf, cycle, feed } = moment
  const seenMs = since(row.lastSeenAt, asOf)
  const statusMs = Math.max(0, asOf - row.statusSince.getTime())
  const settings = settingsInForce(row, row.pool)
  return {
    simId: row.simId,
    iccid: row.iccid,
    tag: row.tag,
    poolId: row.poolId,
    poolName: row.pool?.name ?? null,
    tariffType: row.tariffType === null ? null : labelOf(TariffType, row.tariffType),
    ...amountsOf(row),
    usageCycleMB: toMB(row.cycleBytes),
    ...burnFactsOf(row, moment),
    ...cycleFacts(cycle, asOf),
    usage24hMB: toMB(row.dayBytes),
    usage7dMB: toMB(row.weekBytes),
    sms24h: row.dayMessages,
    voiceMins: toMinutes(row.voiceSeconds),
    smsCount: row.smsCount,
    poolUsagePct: row.pool === null ? null : pctOf(row.pool),
    hoursSinceLastSeen: over(seenMs, HOUR_MS),
    silentPct: seenMs === null ? null : cyclePct(cycle, seenMs),
    neverSeen: row.lastSeenAt === null,
    activeForPct: row.status === SimStatus.Active ? cyclePct(cycle, statusMs) : 0,
    imei: row.imei,
    imeiChanged: row.deviceChangedAt !== null && asOf - row.deviceChangedAt.getTime() < deviceMs(cycle),
    deviceChange: row.deviceChanges === 0 ? null : row.deviceChanges,
    status: row.status,
    statusAgeHours: statusMs / HOUR_MS,
    type: row.type,
    watchdogMode: settings.watchdogMode,
    isWatchdogExempt: row.exempt,
    warningThresholdPct: settings.warningThresholdPct,
    enableBurnRateAlerts: settings.enableBurnRateAlerts ?? false,
    usageAgeMinutes: over(seenMs, MINUTE_MS),
    feedAgePct: feed.ageMs === null ? null : cyclePct(cycle, feed.ageMs),
  }
}

/** The facts of a pool, in the same units as those of a SIM. Pure. */
export function poolFactsOf(row: PoolFactRow & PoolScan & WindowSums, moment: Moment): PoolFacts {
  const { asOf, cycle } = moment
  return {
    poolId: row.poolId,
    poolName: row.poolName,
    poolType: row.poolType,
    tariffType: labelOf(TariffType, row.tariffType),
    ...amountsOf(row),
    ...burnFactsOf(row, moment),
    ...cycleFacts(cycle, asOf),
    usage24hMB: toMB(row.dayBytes),
    sms24h: row.dayMessages,
    watchdogMode: row.mode,
    warningThresholdPct: row.warningThresholdPct,
    enableBurnRateAlerts: row.enableBurnRateAlerts,
    activeSimCount: row.activeSimCount,
    totalSimCount: row.totalSimCount,
    overSimCount: row.overSimCount,
    silentSimCount: row.silentSimCount,
    topSimSharePct: row.usageBytes === 0 ? null : (100 * row.topSimBytes) / row.usageBytes,
    usageAgeMinutes: over(since(row.lastSeenAt, asOf), MINUTE_MS),
  }
}

const failedPct = ({ doneTickets, failedTickets }: TicketCounts): number | null =>
  doneTickets + failedTickets === 0 ? null : (100 * failedTickets) / (doneTickets + failedTickets)

/** The part of the cycle that usage is known of: below 1, if it has not ended. */
const knownShare = ({ knownTo, cycle }: Moment): number => cyclePct(cycle, knownTo - cycle.startsAt) / 100

/** By what part of the cycle charges are forecast. Before rates are told it does not matter. */
export const forecastShare = (moment: Moment): number => Math.max(knownShare(moment), RATES_FROM_SHARE)

function chargesOf({ feeMicro, overageMicro, forecastMicro }: OverageCharges, moment: Moment) {
  const isKnown = knownShare(moment) >= RATES_FROM_SHARE
  return {
    overageCost: toMoney(overageMicro),
    forecastOverageCost: isKnown ? toMoney(forecastMicro) : null,
    forecastOverageCostPct: isKnown && feeMicro > 0 ? (100 * forecastMicro) / feeMicro : null,
  }
}

/** The facts of a tenant, in the same units as those of a SIM. Pure. */
export function tenantFactsOf(row: TenantFactRow & TicketCounts & OverageCharges, moment: Moment): TenantFacts {
  const { asOf, cycle, feed } = moment
  return {
    simCount: row.simCount,
    activeSimCount: row.activeSimCount,
    suspendedSimCount: row.suspendedSimCount,
    unprovisionedSimCount: row.unprovisionedSimCount,
    poolCount: row.poolCount,
    overPoolCount: row.overPoolCount,
    failedTicketCount: row.failedTickets,
    failedTicketPct: failedPct(row),
    ...chargesOf(row, moment),
    usageMB: toMB(row.usageBytes),
    overageMB: toMB(row.overageBytes),
    ...cycleFacts(cycle, asOf),
    feedAgeMinutes: over(feed.ageMs, MINUTE_MS),
    feedAgePct: feed.ageMs === null ? null : cyclePct(cycle, feed.ageMs),
    feedLimitMinutes: feed.limitMs / MINUTE_MS,
  }
}
