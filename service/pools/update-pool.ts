import { EventSeverity, EventType, labelOf, WatchdogMode } from '../../domain/codes.ts'
import type { PoolUpdate } from '../../domain/pools/pool.ts'
import { noteChange } from '../../store/audit.ts'
import { notePoolChanged } from '../../store/changed.ts'
import { insertEvent } from '../../store/events.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { lockPool, type PoolSettings, writePool } from './rows/pools.ts'

const SETTINGS = ['name', 'watchdogMode', 'warningThresholdPct', 'enableBurnRateAlerts'] as const

/**
 * Replaces a pool's name and watchdog settings. An omitted nullable setting becomes null. If a value changes, the pool
 * and its SIMs are looked at again: rules may be for pools of some names only. Changed watchdog settings are recorded
 * as an event. Safe to run twice.
 *
 * @throws ServiceError `pool_not_found`
 */
export async function updatePool(
  tx: TenantTx,
  { id, ...update }: PoolUpdate & { id: number },
): Promise<{ id: number }> {
  const was = await lockPool(tx, id)
  const to: PoolSettings = {
    name: update.name,
    watchdogMode: update.watchdogMode,
    warningThresholdPct: update.warningThresholdPct ?? null,
    enableBurnRateAlerts: update.enableBurnRateAlerts ?? null,
  }
  const changed = SETTINGS.filter((name) => was[name] !== to[name])
  if (changed.length === 0) return { id }
  await writePool(tx, id, to)
  const only = (of: PoolSettings) => Object.fromEntries(changed.map((name) => [name, of[name]]))
  await noteChange(tx, { subject: 'pool', id, before: only(was), after: only(to) })
  await notePoolChanged(tx, id)
  if (changed.join() === 'name') return { id }
  await insertEvent(tx, {
    type: EventType.Platform,
    severity: EventSeverity.Info,
    title: `Watchdog changed: pool ${to.name}`,
    description: `Watchdog of pool ${to.name} (${id}): ${inWords(to)}; before: ${inWords(was)}.`,
  })
  return { id }
}

function inWords(of: PoolSettings): string {
  const threshold = of.warningThresholdPct === null ? 'no threshold' : `threshold ${of.warningThresholdPct} %`
  const burnRate = of.enableBurnRateAlerts === true ? 'burn rate alerts' : 'no burn rate alerts'
  return `mode ${labelOf(WatchdogMode, of.watchdogMode)}, ${threshold}, ${burnRate}`
}
