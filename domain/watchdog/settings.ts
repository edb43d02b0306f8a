/** Decides which watchdog settings are in force for a SIM, and which mode bounds a rule. Pure. */
import { TariffType, WatchdogMode } from '../codes.ts'

/** Own watchdog settings of a SIM or a pool; null: no own value. */
export interface WatchdogSettings {
  readonly watchdogMode: WatchdogMode | null
  readonly warningThresholdPct: number | null
  readonly enableBurnRateAlerts: boolean | null
}

/** A pool's settings, with the type of its tariff. */
export interface PoolWatchdogSettings extends WatchdogSettings {
  readonly tariffType: TariffType | null
}

/** Settings of a SIM outside pools that has none itself. */
const NOTHING = { watchdogMode: WatchdogMode.Monitor, warningThresholdPct: null, enableBurnRateAlerts: false } as const

/**
 * The mode that bounds the actions of a rule on a SIM. A rule of SIMs follows the SIM's own mode, else its pool's, else
 * Monitor. A rule of pools follows the pool's mode, or the SIM's own mode if that is weaker.
 *
 * @param subject kind of the rule's subject
 * @param own mode of the SIM; null if it has none
 * @param pool mode of its pool; null outside pools
 */
export function modeInForce(
  subject: 'sim' | 'pool',
  own: WatchdogMode | null,
  pool: WatchdogMode | null,
): WatchdogMode {
  if (subject === 'sim' || pool === null) return own ?? pool ?? NOTHING.watchdogMode
  return own === null || own > pool ? pool : own
}

/** Whether a pool's rule may pick a SIM: the SIM is not exempt, and its own mode is unset or Enforce. */
export const mayBePicked = (sim: { readonly exempt: boolean; readonly ownMode: WatchdogMode | null }): boolean =>
  !sim.exempt && modeInForce('pool', sim.ownMode, WatchdogMode.Enforce) === WatchdogMode.Enforce

/** Own modes of a SIM that keep a pool's rule from picking it. */
export const UNPICKED_MODES: readonly WatchdogMode[] = Object.values(WatchdogMode).filter(
  (ownMode) => !mayBePicked({ exempt: false, ownMode }),
)

/**
 * A SIM's settings in force: its own, else its pool's. A SIM inherits the warning threshold and the burn rate alerts
 * only from a pool with a Standard tariff. In a shared pool these settings concern the shared allowance.
 *
 * @param pool settings of its pool; null outside pools
 */
export function settingsInForce(own: WatchdogSettings, pool: PoolWatchdogSettings | null) {
  const above = pool?.tariffType === TariffType.Standard ? pool : NOTHING
  return {
    watchdogMode: modeInForce('sim', own.watchdogMode, pool?.watchdogMode ?? null),
    warningThresholdPct: own.warningThresholdPct ?? above.warningThresholdPct,
    enableBurnRateAlerts: own.enableBurnRateAlerts ?? above.enableBurnRateAlerts,
  }
}
