import { EventSeverity, EventType, labelOf, WatchdogMode } from '../../domain/codes.ts'
import type { SimWatchdogChange } from '../../domain/sims/sim.ts'
import { noteChange } from '../../store/audit.ts'
import { markDue } from '../../store/due.ts'
import { insertEvent } from '../../store/events.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { lockSimRecord, setWatchdog } from './rows/sim-changes.ts'
import { labelOfSim } from './rows/sims.ts'

const SETTINGS = ['watchdogMode', 'warningThresholdPct', 'enableBurnRateAlerts', 'isWatchdogExempt'] as const

/**
 * Changes a SIM's watchdog settings. A null makes the SIM inherit the setting of its pool. Marks the SIM and its pool
 * due for evaluation. Safe to run twice: without a change, nothing is noted.
 *
 * @throws ServiceError `sim_not_found`
 */
export async function setSimWatchdog(
  tx: TenantTx,
  { id, ...asked }: SimWatchdogChange & { id: number },
): Promise<{ id: number }> {
  const sim = await lockSimRecord(tx, id)
  const change = { ...asked }
  for (const name of SETTINGS) if (change[name] === sim[name]) delete change[name]
  const changes = wordsOf(change)
  if (changes.length === 0) return { id }
  await setWatchdog(tx, id, change)
  await markDue(tx, [
    { kind: 'sim' as const, id },
    ...(sim.poolId === null ? [] : [{ kind: 'pool' as const, id: sim.poolId }]),
  ])
  const given = SETTINGS.filter((name) => change[name] !== undefined)
  await noteChange(tx, {
    subject: 'sim',
    id,
    before: Object.fromEntries(given.map((name) => [name, sim[name]])),
    after: Object.fromEntries(given.map((name) => [name, change[name]])),
  })
  const label = labelOfSim(sim)
  await insertEvent(tx, {
    type: EventType.Platform,
    severity: EventSeverity.Info,
    title: `Watchdog changed: SIM ${label}`,
    description: `Watchdog of SIM ${label}: ${changes.join(', ')}.`,
  })
  return { id }
}

function wordsOf(change: SimWatchdogChange): string[] {
  const inherited = (value: number | boolean | null) => (value === null ? "the pool's" : String(value))
  const { watchdogMode: mode, isWatchdogExempt: exempt } = change
  return [
    ...(mode === undefined ? [] : [`mode ${mode === null ? "the pool's" : labelOf(WatchdogMode, mode)}`]),
    ...(change.warningThresholdPct === undefined ? [] : [`threshold ${inherited(change.warningThresholdPct)} %`]),
    ...(change.enableBurnRateAlerts === undefined
      ? []
      : [`burn rate alerts ${inherited(change.enableBurnRateAlerts)}`]),
    ...(exempt == null ? [] : [exempt ? 'exempt' : 'not exempt']),
  ]
}
