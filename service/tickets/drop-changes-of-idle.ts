import { EventSeverity, EventType } from '../../domain/codes.ts'
import { insertEvents } from '../../store/events.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { dropIdleChanges } from '../sims/rows/sim-changes.ts'
import { simLabels } from '../sims/rows/sims.ts'

/**
 * Drops changes queued behind tickets without success, and records an event for each. A SIM that stays unprovisioned
 * has nothing to change at month end. Call when tickets end without provisioning, with their SIMs locked.
 */
export async function dropChangesOfIdle(tx: TenantTx, simIds: readonly number[]): Promise<void> {
  const dropped = simIds.length === 0 ? [] : await dropIdleChanges(tx, simIds)
  if (dropped.length === 0) return
  const labels = await simLabels(tx, dropped)
  await insertEvents(
    tx,
    dropped.map((id) => ({
      type: EventType.Connectivity,
      severity: EventSeverity.Info,
      title: `Change dropped: SIM ${labels.get(id) ?? id}`,
      description: `SIM ${labels.get(id) ?? id} stays unprovisioned: there is nothing to change at the end of the billing cycle.`,
    })),
  )
}
