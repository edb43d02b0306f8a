/** A SIM as tickets see it: its locked state, its memberships, and when it was Active. */

import { sql } from 'kysely'
import { SimStatus } from '../../domain/codes.ts'
import type { SimState } from '../../domain/tickets/decisions.ts'
import type { TenantTx } from '../tenancy.ts'
import { countStatusChange } from './sim-counts.ts'

export interface LockedSim extends SimState {
  readonly simId: number
  readonly iccid: string
}

/** Locks a SIM and reads the part that tickets change; undefined if there is no such SIM. */
export async function lockSim(tx: TenantTx, simId: number): Promise<LockedSim | undefined> {
  const { rows } = await sql<LockedSim>`
    select s.id as "simId", s.iccid, s.status, s.pool_id as "poolId", s.tariff_id as "tariffId",
           (select cause from suspensions u where u.sim_id = s.id and u.closed_at is null) as "suspendedBy"
      from sims s where s.id = ${simId} for update of s`.execute(tx.q)
  return rows[0]
}

/** Locks SIMs in id order. */
export async function lockSims(tx: TenantTx, simIds: readonly number[]): Promise<void> {
  await sql`
    select 1 from sims where tenant_id = ${tx.tenantId} and id = any(${[...simIds]}::bigint[])
     order by id for update`.execute(tx.q)
}

/** Reads the part of SIMs that tickets change, by id. Takes no lock. */
export async function readSimStates(tx: TenantTx, simIds: readonly number[]): Promise<LockedSim[]> {
  const { rows } = await sql<LockedSim>`
    select s.id as "simId", s.iccid, s.status, s.pool_id as "poolId", s.tariff_id as "tariffId",
           (select cause from suspensions u where u.sim_id = s.id and u.closed_at is null) as "suspendedBy"
      from sims s
     where s.tenant_id = ${tx.tenantId} and s.id = any(${[...simIds]}::bigint[])
     order by s.id`.execute(tx.q)
  return rows
}

/** Writes a SIM's state after a ticket. Call with the SIM locked. */
export async function writeSimState(
  tx: TenantTx,
  { simId, status }: Pick<LockedSim, 'simId' | 'status'>,
  sim: SimState,
  also: {
    readonly provisionedAt?: Date | null
    readonly tag?: string | null
    /** Removes the change queued for the cycle's end: always, or only if it was queued before an instant. */
    readonly forgetQueued?: 'always' | Date
  },
): Promise<void> {
  countStatusChange(tx, simId, status, sim.status)
  await sql`
    update sims
       set status_since = case when status = ${sim.status} then status_since else ${tx.now} end,
           status = ${sim.status}, pool_id = ${sim.poolId}, tariff_id = ${sim.tariffId},
           provisioned_at = ${also.provisionedAt === undefined ? sql`provisioned_at` : also.provisionedAt},
           tag = coalesce(${also.tag ?? null}, tag),
           ${also.forgetQueued === undefined ? sql`` : forgotten(also.forgetQueued)}
           version = version + 1, updated_at = ${tx.now}
     where id = ${simId}`.execute(tx.q)
}

function forgotten(queued: 'always' | Date) {
  const keep = queued === 'always' ? sql`false` : sql`pending_since >= ${queued}`
  return sql`pending_pool_id = case when ${keep} then pending_pool_id end,
             pending_tariff_id = case when ${keep} then pending_tariff_id end,
             pending_unassign = ${keep} and pending_unassign,
             pending_since = case when ${keep} then pending_since end,`
}

/** Opens a membership of a SIM in its pool, with its own tariff. Pool 0 stands for no pool. */
export async function openMembership(tx: TenantTx, simId: number, sim: SimState, at: Date): Promise<void> {
  await sql`
    insert into memberships (sim_id, pool_id, tariff_id, from_at)
    values (${simId}, ${sim.poolId ?? 0}, ${sim.tariffId}, ${at})`.execute(tx.q)
}

/** Ends a SIM's open membership. An end before its start leaves an empty span. */
export async function closeMembership(tx: TenantTx, simId: number, at: Date): Promise<void> {
  await sql`
    update memberships set to_at = greatest(from_at, ${at}) where sim_id = ${simId} and to_at is null`.execute(tx.q)
}

/** Records from when on a SIM is Active. */
export async function openActiveSpan(tx: TenantTx, simId: number, at: Date): Promise<void> {
  await sql`insert into active_spans (sim_id, from_at) values (${simId}, ${at})`.execute(tx.q)
}

/** Ends a SIM's open active span. An end before its start leaves an empty span. */
export async function closeActiveSpan(tx: TenantTx, simId: number, at: Date): Promise<void> {
  await sql`
    update active_spans set to_at = greatest(from_at, ${at}) where sim_id = ${simId} and to_at is null`.execute(tx.q)
}

/** Whether a SIM in this state may use the network. */
export const isActive = (sim: SimState): boolean => sim.status === SimStatus.Active
