/** Computes facts of subjects at an instant from rows, of the store or a timeline. Instants: epoch milliseconds. */
import { labelOf, SimStatus, TariffType } from '../domain/codes.ts'
import { type LocalDay, localDay } from '../domain/local-time.ts'
import { bucketMs, type Cycle, daysUntilRenewal, lengthMs } from '../domain/time/cycle.ts'
import { GB, toMB, toMinutes, toMoney } from '../domain/units.ts'
import { type Feed, feedAt } from '../domain/usage/feed.ts'
import type { FactValue } from '../domain/watchdog/fact-value.ts'
import { settingsInForce } from '../domain/watchdog/settings.ts'
import type {
  FeedRow,
  JudgedFigures,
  OverageCharges,
  PoolFactRow,
  PoolScan,
  SimRow,
  SimWindowSums,
  TagFactRow,
  TagScan,
  TenantFactRow,
  TicketCounts,
  WindowSums,
  Windows,
} from './fact-rows.ts'
import type { Facts, PoolFacts, ReadFactsOf, SimFacts, TagFacts, TenantFacts } from './facts.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const MINUTE_MS = 60_000
/** Rates are given only after this share of the cycle: a few hours predict little about a month. */
export const FORECAST_FROM_SHARE = 1 / 10
/** Widths of the two windows of burn rates, as shares of the cycle: 6 hours and 2.5 days of 30. */
const BURN_SHORT_SHARE = 1 / 120
const BURN_LONG_SHARE = 1 / 12
/** Over so many days, before the last 24 hours, usage is averaged: whole weeks, to have each day of the week as often. */
const AVERAGE_DAYS = 28
/** The least number of days with an average. A new device often uses most in its first days. */
const LEAST_AVERAGE_DAYS = 7

/** How long a SIM counts as found in another device or country: a thirtieth of the cycle, a day of a month. Milliseconds. */
export const changeMs = (cycle: Cycle): number => lengthMs(cycle) / 30

/** The parts of a moment: an instant (epoch milliseconds), a cycle, and the tenant's usage feed. */
interface Instant {
  readonly at: number
  readonly cycle: Cycle
  readonly billingCycle: string
  /** IANA name. */
  readonly timeZone: string
  /** ISO 4217. */
  readonly currency: string
  readonly feedTimes: FeedRow
}

/** The instant of an evaluation, with the values derived from it for all subjects of a tenant. */
export interface Moment extends Instant {
  /** The instant that the facts are of: that of the evaluation, or the end of the cycle if it has ended. */
  readonly asOf: number
  /** The cycle has ended. Its alerts are reported, but cause no actions. */
  readonly isEnded: boolean
  readonly feed: Feed
  /** End of known usage, epoch milliseconds: rates and windows are as of it. */
  readonly knownTo: number
  /** Facts about time, the same for all subjects. */
  readonly time: TimeFacts
  /** Starts of the windows, each rounded down to the start of a usage bucket. */
  readonly windows: Windows
}

/** The end of known usage in a cycle, at an instant. @param newestAt of the newest usage record; null: there is none */
export const knownUntil = (at: number, { endsAt }: Cycle, newestAt: Date | null): number =>
  Math.min(at, endsAt, newestAt?.getTime() ?? at)

export function momentOf(of: Instant): Moment {
  const { at, cycle, billingCycle, timeZone, feedTimes } = of
  const asOf = Math.min(at, cycle.endsAt)
  const knownTo = knownUntil(at, cycle, feedTimes.newestAt)
  const day = localDay(asOf, timeZone)
  const windows = windowsFrom(knownTo, day.startsAt, cycle, bucketMs(billingCycle))
  const time = timeFacts(cycle, asOf, day)
  return { ...of, asOf, isEnded: at >= cycle.endsAt, feed: feedAt(feedTimes, cycle, at), knownTo, time, windows }
}

function windowsFrom(knownTo: number, today: number, cycle: Cycle, width: number): Windows {
  const bucketAt = (at: number) => new Date(Math.floor(at / width) * width)
  const start = (ms: number) => bucketAt(knownTo - ms)
  return {
    short: start(lengthMs(cycle) * BURN_SHORT_SHARE),
    long: start(lengthMs(cycle) * BURN_LONG_SHARE),
    hour: start(HOUR_MS),
    day: start(DAY_MS),
    week: start(7 * DAY_MS),
    average: start((1 + AVERAGE_DAYS) * DAY_MS),
    today: bucketAt(today),
    until: new Date(cycle.endsAt),
  }
}

/** A SIM that was Active since before this instant, without activity, is silent in its pool: a tenth of the cycle. */
export const silentBefore = ({ asOf, cycle }: Moment): number => asOf - 0.1 * lengthMs(cycle)
/** Tickets that ended from this instant on are counted: within a thirtieth of the cycle's length. */
export const ticketsSince = ({ asOf, cycle }: Moment): number => asOf - (1 / 30) * lengthMs(cycle)

const since = (from: Date | null, at: number): number | null =>
  from === null ? null : Math.max(0, at - from.getTime())
const over = (ms: number | null, unit: number): number | null => (ms === null ? null : ms / unit)

/** A time in milliseconds as a share of the cycle's length, in percent. */
const cyclePct = (cycle: Cycle, ms: number): number => (100 * ms) / lengthMs(cycle)

/** Facts about time, which all kinds of subjects have. */
type TimeFacts = ReturnType<typeof timeFacts>
export const timeFacts = (cycle: Cycle, at: number, day: LocalDay) => ({
  elapsedPct: Math.min(100, Math.max(0, cyclePct(cycle, at - cycle.startsAt))),
  cycleHours: lengthMs(cycle) / HOUR_MS,
  daysUntilRenewal: daysUntilRenewal(cycle, at),
  hoursUntilRenewal: (cycle.endsAt - at) / HOUR_MS,
  hourOfDay: day.hour,
  dayOfWeek: day.weekday,
})

type UsedLimit = Pick<JudgedFigures, 'usageBytes' | 'limitBytes'>

/** Usage as a share of the limit, in percent; null at limit 0. */
const usagePct = ({ usageBytes, limitBytes }: UsedLimit): number | null =>
  limitBytes === 0 ? null : (100 * usageBytes) / limitBytes

/**
 * Facts about the use of a limit: percentages, and rates relative to an even use of the limit. All are null at limit 0.
 * Rates, and so the forecast, are also null in the first tenth of the cycle. Windows cover whole usage buckets, so they
 * can be a little wider than their shares of the cycle; `knownTo` may be before the cycle.
 */
export function burnFacts(
  row: UsedLimit & Pick<WindowSums, 'shortBytes' | 'longBytes'>,
  { cycle, knownTo, windows }: Pick<Moment, 'cycle' | 'knownTo'> & { windows: Pick<Windows, 'short' | 'long'> },
) {
  const elapsed = knownTo - cycle.startsAt
  const evenRate = row.limitBytes / lengthMs(cycle)
  const isTold = row.limitBytes > 0 && elapsed >= lengthMs(cycle) * FORECAST_FROM_SHARE
  const ratio = (bytes: number, ms: number): number | null =>
    isTold && ms > 0 && elapsed >= ms ? bytes / ms / evenRate : null
  const usedPct = usagePct(row)
  const burnLongRatio = ratio(row.longBytes, knownTo - windows.long.getTime())
  return {
    usagePct: usedPct,
    burnRatio: ratio(row.usageBytes, elapsed),
    burnShortRatio: ratio(row.shortBytes, knownTo - windows.short.getTime()),
    burnLongRatio,
    forecastPct:
      usedPct === null || burnLongRatio === null
        ? null
        : usedPct + burnLongRatio * Math.max(0, 100 - cyclePct(cycle, elapsed)),
  }
}

export type SimFactRow = SimRow & JudgedFigures & SimWindowSums

/** Computes one fact from the row of its subject. */
export type FactOf<Row, Value = FactValue> = (row: Row, moment: Moment) => Value

/** Charge for the overage of a SIM so far, in micro-units: as in the line of a statement. */
const overageMicro = ({ fees, overageBytes }: SimFactRow): number =>
  Math.round((overageBytes * (fees?.overageFeePerGb ?? 0)) / GB)

/** Charges of a SIM in the cycle so far, in micro-units: as in the line of a statement, by the tariff of now. */
function chargeMicro(row: SimFactRow): number {
  const { fees, contributing, smsCount, voiceSeconds } = row
  if (fees === null) return 0
  const fee = contributing ? fees.simMonthlyFee : 0
  return fee + smsCount * fees.smsFee + Math.round((voiceSeconds * fees.voiceFee) / 60) + overageMicro(row)
}

function suspendedBy({ status, suspension }: SimFactRow): 'person' | 'watchdog' | 'notActivated' | null {
  if (status !== SimStatus.Suspended) return null
  if (suspension === null) return 'notActivated'
  return suspension === 'user' ? 'person' : suspension
}

/** Whether a change is told still. */
const isRecent = (changedAt: Date | null, { asOf, cycle }: Moment): boolean =>
  changedAt !== null && asOf - changedAt.getTime() < changeMs(cycle)

/** Bytes used a day on average before the last 24 hours; null if they are known of too few days. */
function averageDayBytes({ averageBytes, averageSince }: SimFactRow, { windows }: Moment): number | null {
  const days = averageSince === null ? 0 : (windows.day.getTime() - averageSince.getTime()) / DAY_MS
  return days < LEAST_AVERAGE_DAYS ? null : averageBytes / days
}

/** Corrections may take an average below 0, of which nothing is a multiple. */
function spikeRatio(row: SimFactRow, moment: Moment): number | null {
  const average = averageDayBytes(row, moment)
  return average === null || average <= 0 ? null : row.dayBytes / average
}

const seenMs = (row: SimFactRow, { asOf }: Moment): number | null => since(row.lastSeenAt, asOf)
const statusMs = (row: SimFactRow, { asOf }: Moment): number => Math.max(0, asOf - row.statusSince.getTime())

/** The facts of a SIM, each computed separately: a look needs only the few that its rules read. */
export const SIM_FACTS: { readonly [Name in keyof SimFacts]: FactOf<SimFactRow, SimFacts[Name]> } = {
  simId: ({ simId }) => simId,
  iccid: ({ iccid }) => iccid,
  tag: ({ tag }) => tag,
  poolId: ({ poolId }) => poolId,
  poolName: ({ pool }) => pool?.name ?? null,
  tariffType: ({ tariffType }) => (tariffType === null ? null : labelOf(TariffType, tariffType)),
  usageMB: ({ usageBytes }) => toMB(usageBytes),
  limitMB: ({ limitBytes }) => toMB(limitBytes),
  remainingMB: ({ remainingBytes }) => toMB(remainingBytes),
  overageMB: ({ overageBytes }) => toMB(overageBytes),
  usageCycleMB: ({ cycleBytes }) => toMB(cycleBytes),
  cost: (row) => toMoney(chargeMicro(row)),
  overageCost: (row) => toMoney(overageMicro(row)),
  usagePct,
  burnRatio: (row, moment) => burnFacts(row, moment).burnRatio,
  burnShortRatio: (row, moment) => burnFacts(row, moment).burnShortRatio,
  burnLongRatio: (row, moment) => burnFacts(row, moment).burnLongRatio,
  forecastPct: (row, moment) => burnFacts(row, moment).forecastPct,
  currency: (_, { currency }) => currency,
  elapsedPct: (_, { time }) => time.elapsedPct,
  cycleHours: (_, { time }) => time.cycleHours,
  daysUntilRenewal: (_, { time }) => time.daysUntilRenewal,
  hoursUntilRenewal: (_, { time }) => time.hoursUntilRenewal,
  hourOfDay: (_, { time }) => time.hourOfDay,
  dayOfWeek: (_, { time }) => time.dayOfWeek,
  usageTodayMB: ({ todayBytes }) => toMB(todayBytes),
  usage24hMB: ({ dayBytes }) => toMB(dayBytes),
  usage7dMB: ({ weekBytes }) => toMB(weekBytes),
  usageAvgDayMB(row, moment) {
    const bytes = averageDayBytes(row, moment)
    return bytes === null ? null : toMB(bytes)
  },
  usageSpikeRatio: spikeRatio,
  sms1h: ({ hourMessages }) => hourMessages,
  sms24h: ({ dayMessages }) => dayMessages,
  voiceMins: ({ voiceSeconds }) => toMinutes(voiceSeconds),
  smsCount: ({ smsCount }) => smsCount,
  sessions: ({ sessions }) => sessions,
  sessions24h: ({ daySessions }) => daySessions,
  poolUsagePct: ({ pool }) => (pool === null ? null : usagePct(pool)),
  hoursSinceLastSeen: (row, moment) => over(seenMs(row, moment), HOUR_MS),
  silentPct(row, moment) {
    const ms = seenMs(row, moment)
    return ms === null ? null : cyclePct(moment.cycle, ms)
  },
  neverSeen: ({ lastSeenAt }) => lastSeenAt === null,
  activeForPct: (row, moment) => (row.status === SimStatus.Active ? cyclePct(moment.cycle, statusMs(row, moment)) : 0),
  imei: ({ imei }) => imei,
  imeiChanged: ({ deviceChangedAt }, moment) => isRecent(deviceChangedAt, moment),
  deviceChange: ({ deviceChanges }) => (deviceChanges === 0 ? null : deviceChanges),
  lastCountry: ({ country }) => country,
  countryChanged: ({ countryChangedAt }, moment) => isRecent(countryChangedAt, moment),
  lastMccMnc: ({ mccMnc }) => mccMnc,
  lastRat: ({ rat }) => rat,
  status: ({ status }) => status,
  suspendedBy,
  statusAgeHours: (row, moment) => statusMs(row, moment) / HOUR_MS,
  type: ({ type }) => type,
  watchdogMode: (row) => settingsInForce(row, row.pool).watchdogMode,
  warningThresholdPct: (row) => settingsInForce(row, row.pool).warningThresholdPct,
  enableBurnRateAlerts: (row) => settingsInForce(row, row.pool).enableBurnRateAlerts ?? false,
  usageAgeMinutes: (row, moment) => over(seenMs(row, moment), MINUTE_MS),
  feedAgePct: (_, { feed, cycle }) => (feed.ageMs === null ? null : cyclePct(cycle, feed.ageMs)),
}

export const SIM_FACTS_BY_NAME: ReadonlyMap<string, FactOf<SimFactRow>> = new Map(Object.entries(SIM_FACTS))

/** @param read the facts to compute. Default: all */
export function simFactsOf(row: SimFactRow, moment: Moment): SimFacts
export function simFactsOf(row: SimFactRow, moment: Moment, read: typeof SIM_FACTS_BY_NAME): ReadFactsOf<'sim'>
export function simFactsOf(row: SimFactRow, moment: Moment, read = SIM_FACTS_BY_NAME): Facts {
  const facts: Record<string, FactValue> = {}
  for (const [name, factOf] of read) facts[name] = factOf(row, moment)
  return facts
}

export function poolFactsOf(row: PoolFactRow & PoolScan & WindowSums, moment: Moment): PoolFacts {
  const { asOf } = moment
  return {
    poolId: row.poolId,
    poolName: row.poolName,
    poolType: row.poolType,
    tariffType: labelOf(TariffType, row.tariffType),
    usageMB: toMB(row.usageBytes),
    limitMB: toMB(row.limitBytes),
    remainingMB: toMB(row.remainingBytes),
    overageMB: toMB(row.overageBytes),
    ...burnFacts(row, moment),
    currency: moment.currency,
    ...moment.time,
    usageTodayMB: toMB(row.todayBytes),
    usage24hMB: toMB(row.dayBytes),
    sms1h: row.hourMessages,
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

/** The part of the cycle that charges are forecast by. Before rates are given it does not matter. */
export const forecastShare = (moment: Moment): number => Math.max(knownShare(moment), FORECAST_FROM_SHARE)

function chargesOf({ feeMicro, overageMicro, forecastMicro }: OverageCharges, moment: Moment) {
  const isKnown = knownShare(moment) >= FORECAST_FROM_SHARE
  return {
    overageCost: toMoney(overageMicro),
    forecastOverageCost: isKnown ? toMoney(forecastMicro) : null,
    forecastOverageCostPct: isKnown && feeMicro > 0 ? (100 * forecastMicro) / feeMicro : null,
  }
}

export function tenantFactsOf(row: TenantFactRow & TicketCounts & OverageCharges, moment: Moment): TenantFacts {
  const { cycle, feed } = moment
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
    currency: moment.currency,
    ...moment.time,
    feedAgeMinutes: over(feed.ageMs, MINUTE_MS),
    feedAgePct: feed.ageMs === null ? null : cyclePct(cycle, feed.ageMs),
    feedLimitMinutes: feed.limitMs / MINUTE_MS,
  }
}

export function tagFactsOf(row: TagFactRow & TagScan, { cycle, feed, currency, time }: Moment): TagFacts {
  return {
    tag: row.tag,
    simCount: row.simCount,
    activeSimCount: row.activeSimCount,
    suspendedSimCount: row.suspendedSimCount,
    unprovisionedSimCount: row.unprovisionedSimCount,
    silentSimCount: row.silentSimCount,
    overSimCount: row.overSimCount,
    usageMB: toMB(row.usageBytes),
    overageMB: toMB(row.overageBytes),
    voiceMins: toMinutes(row.voiceSeconds),
    smsCount: row.smsCount,
    sessions: row.sessions,
    currency,
    ...time,
    feedAgePct: feed.ageMs === null ? null : cyclePct(cycle, feed.ageMs),
  }
}
