/** Computes the facts of subjects at an instant, from rows that the store has read. */
import { labelOf, SimStatus, TariffType } from '../../domain/codes.ts'
import { bucketMs, type Cycle } from '../../domain/time/cycle.ts'
import { toMB, toMinutes } from '../../domain/units.ts'
import { settingsInForce } from '../../domain/watchdog/settings.ts'
import { burnFacts, burnWindowsMs, cycleFacts, cyclePct } from '../../rules/burn-rates.ts'
import type { PoolFacts, SimFacts, TenantFacts } from '../../rules/facts.ts'
import type { SimFigures } from '../../store/usage/figures.ts'
import type { PoolFactRow, SimRow, TenantFactRow, Windows } from '../../store/watchdog/facts.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
/** A SIM counts as silent in its pool after this share of the cycle's length without activity. */
export const SILENT_SHARE = 0.1

/** The instant of an evaluation (epoch milliseconds), its cycle, and the time of the newest usage of the tenant. */
export interface Moment {
  readonly at: number
  readonly cycle: Cycle
  readonly billingCycle: string
  readonly newestUsageAt: Date | null
}

/** Starts of the windows, each rounded down to the start of a usage bucket. */
export function windowsOf({ at, cycle, billingCycle }: Moment): Windows {
  const width = bucketMs(billingCycle)
  const start = (ms: number) => new Date(Math.floor((at - ms) / width) * width)
  const { short, long } = burnWindowsMs(cycle)
  return { short: start(short), long: start(long), day: start(24 * HOUR_MS), week: start(7 * 24 * HOUR_MS) }
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
  moment: Moment,
) => {
  const windows = windowsOf(moment)
  const { at, cycle } = moment
  return burnFacts(
    {
      usageBytes: row.usageBytes,
      limitBytes: row.limitBytes,
      short: { bytes: row.shortBytes, ms: at - windows.short.getTime() },
      long: { bytes: row.longBytes, ms: at - windows.long.getTime() },
    },
    cycle,
    at,
  )
}

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

/** The facts of a SIM. Units are in their names (MB, minutes, hours, percent); null if not known. Pure. */
export function simFactsOf(row: SimRow & SimFigures, moment: Moment): SimFacts {
  const { at, cycle } = moment
  const seenMs = since(row.lastSeenAt, at)
  const statusMs = at - row.statusSince.getTime()
  const feedMs = since(moment.newestUsageAt, at)
  const settings = settingsInForce(row.own, row.pool)
  return {
    simId: row.simId,
    iccid: row.iccid,
    tag: row.tag,
    poolId: row.poolId,
    poolName: row.poolName,
    tariffType: row.tariffType === null ? null : labelOf(TariffType, row.tariffType),
    ...amountsOf(row),
    ...burnFactsOf(row, moment),
    ...cycleFacts(cycle, at),
    usage24hMB: toMB(row.dayBytes),
    usage7dMB: toMB(row.weekBytes),
    voiceMins: toMinutes(row.voiceSeconds),
    smsCount: row.smsCount,
    poolUsagePct:
      row.poolLimitBytes === null || row.poolUsageBytes === null || row.poolLimitBytes === 0
        ? null
        : (100 * row.poolUsageBytes) / row.poolLimitBytes,
    hoursSinceLastSeen: over(seenMs, HOUR_MS),
    silentPct: seenMs === null ? null : cyclePct(cycle, seenMs),
    neverSeen: row.lastSeenAt === null,
    activeForPct: row.status === SimStatus.Active ? cyclePct(cycle, statusMs) : 0,
    imei: row.imei,
    imeiChanged: row.previousImei !== '',
    status: row.status,
    statusAgeHours: statusMs / HOUR_MS,
    type: row.type,
    watchdogMode: settings.watchdogMode,
    isWatchdogExempt: row.exempt,
    warningThresholdPct: settings.warningThresholdPct,
    enableBurnRateAlerts: settings.enableBurnRateAlerts ?? false,
    usageAgeMinutes: over(seenMs, MINUTE_MS),
    feedAgePct: feedMs === null ? null : cyclePct(cycle, feedMs),
  }
}

/** The facts of a pool, in the same units as those of a SIM. Pure. */
export function poolFactsOf(row: PoolFactRow, moment: Moment): PoolFacts {
  const { at, cycle } = moment
  return {
    poolId: row.poolId,
    poolName: row.poolName,
    poolType: row.poolType,
    tariffType: labelOf(TariffType, row.tariffType),
    ...amountsOf(row),
    ...burnFactsOf(row, moment),
    ...cycleFacts(cycle, at),
    usage24hMB: toMB(row.dayBytes),
    watchdogMode: row.mode,
    warningThresholdPct: row.warningThresholdPct,
    enableBurnRateAlerts: row.enableBurnRateAlerts,
    activeSimCount: row.activeSimCount,
    totalSimCount: row.totalSimCount,
    overSimCount: row.overSimCount,
    silentSimCount: row.silentSimCount,
    topSimSharePct: row.usageBytes === 0 ? null : (100 * row.topSimBytes) / row.usageBytes,
    usageAgeMinutes: over(since(row.lastSeenAt, at), MINUTE_MS),
  }
}

/** The facts of a tenant, in the same units as those of a SIM. Pure. */
export function tenantFactsOf(row: TenantFactRow, moment: Moment): TenantFacts {
  const { at, cycle } = moment
  const feedMs = since(row.newestUsageAt, at)
  return {
    simCount: row.simCount,
    activeSimCount: row.activeSimCount,
    suspendedSimCount: row.suspendedSimCount,
    unprovisionedSimCount: row.unprovisionedSimCount,
    poolCount: row.poolCount,
    overPoolCount: row.overPoolCount,
    usageMB: toMB(row.usageBytes),
    overageMB: toMB(row.overageBytes),
    ...cycleFacts(cycle, at),
    feedAgeMinutes: over(feedMs, MINUTE_MS),
    feedAgePct: feedMs === null ? null : cyclePct(cycle, feedMs),
  }
}
