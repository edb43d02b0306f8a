import { Value } from 'typebox/value'
import { EventSeverity, EventType } from '../../domain/codes.ts'
import type { EnforcementChange, EnforcementSettings } from '../../domain/enforcement/guard.ts'
import { counted } from '../../domain/quantity.ts'
import { noteChange } from '../../store/audit.ts'
import { insertEvent } from '../../store/events.ts'
import { lookAtAll } from '../../store/shards.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { lockTenant } from '../tenants/rows/tenants.ts'
import { readEnforcementSettings, writeEnforcementSettings } from './rows/guard.ts'

/**
 * Switches enforcement on or off, and changes the limits of the guard. A switch marks every subject due. Once it is
 * off, their evaluation makes every run stand down. Suspended SIMs stay suspended.
 *
 * @returns the settings after the change
 * @throws ServiceError `tenant_not_found`
 */
export async function changeEnforcement(tx: TenantTx, change: EnforcementChange): Promise<EnforcementSettings> {
  const tenant = await lockTenant(tx)
  const was = await readEnforcementSettings(tx)
  const now = {
    enabled: change.enabled ?? was.enabled,
    guardLeast: change.guardLeast ?? was.guardLeast,
    guardPct: change.guardPct ?? was.guardPct,
    alertGuardLeast: change.alertGuardLeast ?? was.alertGuardLeast,
    alertGuardPct: change.alertGuardPct ?? was.alertGuardPct,
  }
  if (Value.Equal(now, was)) return was
  await writeEnforcementSettings(tx, now)
  await noteChange(tx, { subject: 'tenant', id: tenant.id, before: was, after: now })
  if (now.enabled !== was.enabled) await lookAtAll(tx)
  const off = was.enabled && !now.enabled
  const switched = now.enabled === was.enabled ? 'changed' : `switched ${now.enabled ? 'on' : 'off'}`
  await insertEvent(tx, {
    type: EventType.Platform,
    severity: off ? EventSeverity.Warning : EventSeverity.Info,
    title: `Enforcement ${switched}`,
    description:
      `The watchdog ${now.enabled ? 'suspends' : 'suspends nothing'}; one rule may suspend ${counted(now.guardLeast, 'SIM')}, or ` +
      `${now.guardPct} % of a pool or of all where that is more, in an hour before the rest is held; it may begin to ` +
      `fire on ${counted(now.alertGuardLeast, 'subject')}, or ${now.alertGuardPct} % of all, before notices and actions are held.`,
  })
  return now
}
