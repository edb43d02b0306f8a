/** The rows that facts are computed from, read from the store or taken from a timeline. */
import type { PoolType, SimStatus, SimType, TariffType, WatchdogMode } from '../domain/codes.ts'
import type { TariffTerms } from '../domain/tariffs/tariff.ts'
import type { FeedTimes } from '../domain/usage/feed.ts'
import type { PoolWatchdogSettings, WatchdogSettings } from '../domain/watchdog/settings.ts'

/** Starts of the windows over which usage is counted, each at the start of a bucket, and the end of all of them. */
export interface Windows {
  readonly short: Date
  readonly long: Date
  /** The last hour, the last 24 hours, and the 7 days, up to the end of known usage. */
  readonly hour: Date
  readonly day: Date
  readonly week: Date
  /** The 28 days before the last 24 hours: it ends where `day` starts. */
  readonly average: Date
  /** The present day in the tenant's time zone. */
  readonly today: Date
  /** Not in them: the end of the cycle. */
  readonly until: Date
}
export type WindowName = Exclude<keyof Windows, 'until'>

export interface PoolOfSims extends PoolWatchdogSettings {
  readonly name: string
  readonly usageBytes: number
  readonly limitBytes: number
}

/** Fees of a tariff, in micro-units of the currency. */
export type Fees = Omit<TariffTerms, 'allowanceBytes' | 'fixedBucketCost'>

export interface SimRow extends WatchdogSettings {
  readonly simId: number
  readonly iccid: string
  readonly tag: string
  readonly type: SimType
  readonly status: SimStatus
  readonly statusSince: Date
  readonly poolId: number | null
  /** Null outside pools. */
  readonly pool: PoolOfSims | null
  readonly tariffType: TariffType | null
  /** Of the tariff that governs it; null without one. */
  readonly fees: Fees | null
  readonly exempt: boolean
  /** Cause of its open suspension; null without one. */
  readonly suspension: 'user' | 'watchdog' | null
  readonly imei: string
  /** How often it was found in another device. */
  readonly deviceChanges: number
  /** When the latest change of device was recorded. */
  readonly deviceChangedAt: Date | null
  readonly lastSeenAt: Date | null
  /** ISO 3166-1 alpha-2, of the newest record that names one; null until known. */
  readonly country: string | null
  readonly mccMnc: string | null
  readonly rat: string | null
  /** When the latest change of country was recorded. */
  readonly countryChangedAt: Date | null
}

/** Bytes used over the windows, and messages sent over an hour and 24. */
export interface WindowSums {
  readonly shortBytes: number
  readonly longBytes: number
  readonly dayBytes: number
  readonly todayBytes: number
  readonly hourMessages: number
  readonly dayMessages: number
}

/** The windows of a SIM, which has more. */
export interface SimWindowSums extends WindowSums {
  /** Sessions begun over 24 hours. */
  readonly daySessions: number
  readonly weekBytes: number
  readonly averageBytes: number
  /** Instant of the first record in the window of the average; null without one. */
  readonly averageSince: Date | null
}

interface Amounts {
  readonly limitBytes: number
  readonly usageBytes: number
  readonly remainingBytes: number
  readonly overageBytes: number
}

export interface PoolFactRow extends Amounts {
  readonly poolId: number
  readonly poolName: string
  readonly poolType: PoolType
  readonly tariffType: TariffType
  readonly mode: WatchdogMode
  readonly warningThresholdPct: number | null
  readonly enableBurnRateAlerts: boolean
  readonly activeSimCount: number
  readonly totalSimCount: number
}

/** Values that need all SIMs of a pool. */
export interface PoolScan {
  readonly overSimCount: number
  readonly silentSimCount: number
  readonly topSimBytes: number
  readonly lastSeenAt: Date | null
}

export interface TenantFactRow {
  readonly name: string
  readonly simCount: number
  readonly activeSimCount: number
  readonly suspendedSimCount: number
  readonly unprovisionedSimCount: number
  readonly poolCount: number
  readonly overPoolCount: number
  readonly usageBytes: number
  readonly overageBytes: number
}

/** The SIMs whose tags fit a pattern, together. */
export interface TagFactRow {
  /** `*` stands for any characters. */
  readonly tag: string
}

/** Values that need all SIMs of a tag. */
export interface TagScan {
  readonly simCount: number
  readonly activeSimCount: number
  readonly suspendedSimCount: number
  readonly unprovisionedSimCount: number
  readonly silentSimCount: number
  readonly overSimCount: number
  readonly usageBytes: number
  readonly overageBytes: number
  readonly voiceSeconds: number
  readonly smsCount: number
  readonly sessions: number
}

/** Recently ended tickets. */
export interface TicketCounts {
  readonly doneTickets: number
  readonly failedTickets: number
}

/** Charges of pools in a cycle, in micro-units, as far as usage is known. */
export interface OverageCharges {
  /** Monthly fees of buckets, and of SIMs that were Active. */
  readonly feeMicro: number
  readonly overageMicro: number
  /** For overage by the end of the cycle, if each pool goes on as it did from its beginning. */
  readonly forecastMicro: number
}

export interface Figures extends Amounts {
  readonly voiceSeconds: number
  readonly smsCount: number
}

/** Figures of a ledger row. Pool 0: outside pools. */
export interface FactFigures extends Figures {
  readonly poolId: number
  readonly sessions: number
  /** Whether the SIM was Active here in the cycle: it pays the monthly fee. */
  readonly contributing: boolean
}

export interface FeedRow extends FeedTimes {
  /** Instant of the newest record; null without one. */
  readonly newestAt: Date | null
}

export interface JudgedFigures extends Figures {
  /** Bytes used in the cycle, in all pools. */
  readonly cycleBytes: number
  /** Data sessions begun in the cycle, in all pools. */
  readonly sessions: number
  /** Whether it was Active in its pool in the cycle. */
  readonly contributing: boolean
}

export interface DeviceChange {
  /** 1 for the SIM's first change. */
  readonly n: number
  readonly imei: string
}
