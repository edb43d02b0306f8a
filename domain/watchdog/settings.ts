/** Which watchdog settings are in force for a SIM, and which mode bounds a rule. Pure. */
import { TariffType, WatchdogMode } from '../codes.ts'

/** What the watchdog of a SIM or a pool is set to; null: nothing of its own. */
export interface WatchdogSettings {
  readonly watchdogMode: WatchdogMode | null
  readonly warningThresholdPct: number | null
  readonly enableBurnRateAlerts: boolean | null
}

/** A pool's settings, with the type of its tariff. */
export interface PoolWatchdogSettings extends WatchdogSettings {
  readonly tariffType: TariffType | null
}

/** What a SIM has without settings of its own, outside pools. */
const NOTHING = { watchdogMode: WatchdogMode.Monitor, warningThresholdPct: null, enableBurnRateAlerts: false } as const

/**
 * The mode that bounds what a rule does about a SIM. A rule of SIMs goes by the SIM's own mode where it has one, else by
 * its pool's, else by Monitor. A rule of pools goes by the pool's, and no further than an own mode of the SIM lets it.
 *
 * @param subject what the rule is decided for
 * @param own null: the SIM has none
 * @param pool null: the SIM is in no pool
 */
export function modeInForce(
  subject: 'sim' | 'pool',
  own: WatchdogMode | null,
  pool: WatchdogMode | null,
): WatchdogMode {
  if (subject === 'sim' || pool === null) return own ?? pool ?? NOTHING.watchdogMode
  return own === null || own > pool ? pool : own
}

/** Whether a pool's rule may pick a SIM: it is not exempt, and its own mode is unset or Enforce. */
export const mayBePicked = (sim: { readonly exempt: boolean; readonly ownMode: WatchdogMode | null }): boolean =>
  !sim.exempt && modeInForce('pool', sim.ownMode, WatchdogMode.Enforce) === WatchdogMode.Enforce

/** Own modes of SIMs that keep a pool's rule from picking them. */
export const UNPICKED_MODES: readonly WatchdogMode[] = Object.values(WatchdogMode).filter(
  (ownMode) => !mayBePicked({ exempt: false, ownMode }),
)

/**
 * A SIM's settings in force: its own, or else its pool's. Threshold and burn rate alerts of a shared pool are about what
 * its SIMs share: only where a Standard tariff governs are they its SIMs' too.
 *
 * @param pool null outside pools
 */
export function settingsInForce(own: WatchdogSettings, pool: PoolWatchdogSettings | null) {
  const above = pool?.tariffType === TariffType.Standard ? pool : NOTHING
  return {
    watchdogMode: modeInForce('sim', own.watchdogMode, pool?.watchdogMode ?? null),
    warningThresholdPct: own.warningThresholdPct ?? above.warningThresholdPct,
    enableBurnRateAlerts: own.enableBurnRateAlerts ?? above.enableBurnRateAlerts,
  }
}
