/**
 * Changes of a SIM queued for the end of the billing cycle. The last one replaces earlier ones, which an event records.
 * Changes are checked against the state that the SIM will have after its open tickets.
 */

import { EventSeverity, EventType, SimStatus } from '../../domain/codes.ts'
import { ServiceError } from '../../domain/errors.ts'
import { counted } from '../../domain/quantity.ts'
import type { QueueReprovision } from '../../domain/sims/sim.ts'
import { type SimState, stateAfter } from '../../domain/tickets/decisions.ts'
import { noteChange } from '../../store/audit.ts'
import { insertEvent } from '../../store/events.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import {
  dropChange,
  type LockedSimRecord,
  lockSimRecord,
  type QueuedChange,
  queueChange,
} from '../sims/rows/sim-changes.ts'
import { lockSim } from '../sims/rows/sim-state.ts'
import { labelOfSim } from '../sims/rows/sims.ts'
import { checkAssignment } from '../tickets/open-ticket.ts'
import { openTickets } from '../tickets/rows/tickets.ts'
import { ticketOfChange } from './rows/changes.ts'

/**
 * Queues a SIM to be unprovisioned and taken out of its pool. Drops a queued pool or tariff. Safe to run twice.
 *
 * @throws ServiceError `sim_not_found`; `sim_state_conflict` if the SIM is unprovisioned, or will be
 */
export async function queueUnprovision(tx: TenantTx, id: number): Promise<{ id: number }> {
  const { sim } = await lockProvisioned(tx, id)
  if (sim.pendingUnassign) return { id }
  await queue(tx, id, sim, { poolId: null, tariffId: null, unassign: true })
  const dropped = sim.pendingPoolId === null && sim.pendingTariffId === null ? '' : ` In place of ${targetOf(sim)}.`
  await recordChangeEvent(tx, 'queued', sim, `is unprovisioned at the end of the billing cycle.${dropped}`)
  return { id }
}

/**
 * Queues a SIM's next pool, tariff or both, and drops a queued unassignment. An omitted one stays as queued. If both
 * are omitted, nothing changes.
 *
 * @throws ServiceError `sim_not_found`, `pool_not_found`, `tariff_not_found`, `tariff_inactive`, `tariff_needs_pool`,
 *   `tariff_has_no_effect`; `sim_state_conflict` if the SIM is unprovisioned, or will be
 */
export async function queueReprovision(
  tx: TenantTx,
  { id, poolId, tariffId }: QueueReprovision & { id: number },
): Promise<{ id: number }> {
  const { sim, state } = await lockProvisioned(tx, id)
  if (poolId == null && tariffId == null) return { id }
  const change = { pendingPoolId: poolId ?? sim.pendingPoolId, pendingTariffId: tariffId ?? sim.pendingTariffId }
  const after = { poolId: change.pendingPoolId ?? state.poolId, tariffId: change.pendingTariffId ?? state.tariffId }
  await checkAssignment(tx, after, change.pendingTariffId)
  await queue(tx, id, sim, { poolId: change.pendingPoolId, tariffId: change.pendingTariffId, unassign: false })
  const dropped = sim.pendingUnassign ? ' It is not unprovisioned, as was queued before.' : ''
  await recordChangeEvent(
    tx,
    'queued',
    sim,
    `changes to ${targetOf(change)} at the end of the billing cycle.${dropped}`,
  )
  return { id }
}

/**
 * Takes back a SIM's queued changes. Safe to run twice: without any, nothing changes.
 *
 * @throws ServiceError `sim_not_found`; `sim_state_conflict` if a month end is carrying the change out
 */
export async function takeBackChange(tx: TenantTx, id: number): Promise<{ id: number }> {
  const sim = await lockSimRecord(tx, id)
  if (isNothing(sim)) return { id }
  const ticketId = await ticketOfChange(tx, id)
  if (ticketId !== undefined) {
    const detail = `Ticket ${ticketId} of the month end is carrying it out: cancel that while it is pending.`
    throw new ServiceError('sim_state_conflict', detail)
  }
  await dropChange(tx, id)
  await noteQueued(tx, id, sim, { poolId: null, tariffId: null, unassign: false })
  const what = sim.pendingUnassign ? 'is not unprovisioned' : `does not change to ${targetOf(sim)}`
  await recordChangeEvent(tx, 'taken back', sim, `${what} at the end of the billing cycle.`)
  return { id }
}

const isNothing = ({ pendingPoolId, pendingTariffId, pendingUnassign }: LockedSimRecord): boolean =>
  pendingPoolId === null && pendingTariffId === null && !pendingUnassign

async function queue(tx: TenantTx, id: number, sim: LockedSimRecord, to: QueuedChange): Promise<void> {
  await queueChange(tx, id, to)
  await noteQueued(tx, id, sim, to)
}

async function noteQueued(tx: TenantTx, id: number, sim: LockedSimRecord, to: QueuedChange): Promise<void> {
  const { pendingPoolId, pendingTariffId, pendingUnassign } = sim
  await noteChange(tx, {
    subject: 'sim',
    id,
    before: { pendingPoolId, pendingTariffId, pendingUnassign },
    after: { pendingPoolId: to.poolId, pendingTariffId: to.tariffId, pendingUnassign: to.unassign },
  })
}

const targetOf = (sim: Pick<LockedSimRecord, 'pendingPoolId' | 'pendingTariffId'>): string =>
  [
    ...(sim.pendingPoolId === null ? [] : [`pool ${sim.pendingPoolId}`]),
    ...(sim.pendingTariffId === null ? [] : [`tariff ${sim.pendingTariffId}`]),
  ].join(' and ')

/**
 * Locks a SIM that will be provisioned after its open tickets.
 *
 * @returns the SIM now, and its state after its open tickets
 * @throws ServiceError `sim_not_found`, `sim_state_conflict`
 */
async function lockProvisioned(tx: TenantTx, id: number): Promise<{ sim: LockedSimRecord; state: SimState }> {
  const now = await lockSim(tx, id)
  if (now === undefined) throw new ServiceError('sim_not_found', `There is no SIM ${id}.`)
  const sim = await lockSimRecord(tx, id)
  const open = await openTickets(tx, id)
  const state = open.reduce<SimState>(stateAfter, now)
  if (state.status === SimStatus.Unprovisioned) {
    const when =
      open.length === 0 ? 'is unprovisioned' : `is unprovisioned after ${counted(open.length, 'open ticket')}`
    throw new ServiceError('sim_state_conflict', `SIM ${id} ${when}: there is nothing to change at month end.`)
  }
  return { sim, state }
}

async function recordChangeEvent(
  tx: TenantTx,
  change: 'queued' | 'taken back',
  sim: LockedSimRecord,
  what: string,
): Promise<void> {
  const label = labelOfSim(sim)
  await insertEvent(tx, {
    type: EventType.Connectivity,
    severity: EventSeverity.Info,
    title: `Change ${change}: SIM ${label}`,
    description: `SIM ${label} ${what}`,
  })
}
