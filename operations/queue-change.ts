/** Changes of a SIM that wait for the end of the billing cycle. The last one wins, and an event says so. */
import { EventSeverity, EventType, SimStatus } from '../domain/codes.ts'
import { ServiceError } from '../domain/errors.ts'
import type { QueueReprovision } from '../domain/sim.ts'
import { noteChange } from '../store/audit.ts'
import { insertEvent } from '../store/events.ts'
import { type LockedSim, lockSim, type QueuedChange, queueChange } from '../store/sim-changes.ts'
import { simLabel } from '../store/sims.ts'
import type { TenantTx } from '../store/tenancy.ts'
import { checkAssignment } from './tickets.ts'

/**
 * Queues a SIM to be unprovisioned and taken out of its pool; a queued pool or tariff is dropped.
 * Safe to run twice.
 *
 * @throws ServiceError sim_not_found, sim_state_conflict (it is unprovisioned)
 */
export async function queueUnprovision(tx: TenantTx, id: number): Promise<{ id: number }> {
  const sim = await lockProvisioned(tx, id)
  if (sim.pendingUnassign) return { id }
  await queue(tx, id, sim, { poolId: null, tariffId: null, unassign: true })
  const dropped = sim.pendingPoolId === null && sim.pendingTariffId === null ? '' : ` In place of ${targetOf(sim)}.`
  await tell(tx, id, `is unprovisioned at the end of the billing cycle.${dropped}`)
  return { id }
}

/**
 * Queues a SIM's next pool, tariff or both; what is left out stays as it is queued, and with nothing given
 * nothing changes. A queued unassignment is dropped.
 *
 * @throws ServiceError sim_not_found, sim_state_conflict, pool_not_found, tariff_not_found, tariff_inactive,
 *   tariff_needs_pool, tariff_has_no_effect
 */
export async function queueReprovision(
  tx: TenantTx,
  { id, poolId, tariffId }: QueueReprovision & { id: number },
): Promise<{ id: number }> {
  const sim = await lockProvisioned(tx, id)
  if (poolId == null && tariffId == null) return { id }
  const change = { pendingPoolId: poolId ?? sim.pendingPoolId, pendingTariffId: tariffId ?? sim.pendingTariffId }
  const after = { poolId: change.pendingPoolId ?? sim.poolId, tariffId: change.pendingTariffId ?? sim.tariffId }
  await checkAssignment(tx, after, change.pendingTariffId)
  await queue(tx, id, sim, { poolId: change.pendingPoolId, tariffId: change.pendingTariffId, unassign: false })
  const dropped = sim.pendingUnassign ? ' It is not unprovisioned, as was queued before.' : ''
  await tell(tx, id, `changes to ${targetOf(change)} at the end of the billing cycle.${dropped}`)
  return { id }
}

async function queue(tx: TenantTx, id: number, sim: LockedSim, to: QueuedChange): Promise<void> {
  await queueChange(tx, id, to)
  const { pendingPoolId, pendingTariffId, pendingUnassign } = sim
  await noteChange(tx, {
    subject: 'sim',
    id,
    before: { pendingPoolId, pendingTariffId, pendingUnassign },
    after: { pendingPoolId: to.poolId, pendingTariffId: to.tariffId, pendingUnassign: to.unassign },
  })
}

const targetOf = (sim: Pick<LockedSim, 'pendingPoolId' | 'pendingTariffId'>): string =>
  [
    ...(sim.pendingPoolId === null ? [] : [`pool ${sim.pendingPoolId}`]),
    ...(sim.pendingTariffId === null ? [] : [`tariff ${sim.pendingTariffId}`]),
  ].join(' and ')

async function lockProvisioned(tx: TenantTx, id: number): Promise<LockedSim> {
  const sim = await lockSim(tx, id)
  if (sim === undefined) throw new ServiceError('sim_not_found', `There is no SIM ${id}.`)
  if (sim.status === SimStatus.Unprovisioned) {
    throw new ServiceError('sim_state_conflict', `SIM ${id} is unprovisioned: there is nothing to change at month end.`)
  }
  return sim
}

async function tell(tx: TenantTx, id: number, what: string): Promise<void> {
  const label = await simLabel(tx, id)
  await insertEvent(tx, {
    type: EventType.Connectivity,
    severity: EventSeverity.Info,
    title: `Change queued: SIM ${label}`,
    description: `SIM ${label} ${what}`,
  })
}
