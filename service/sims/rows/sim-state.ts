/** The state of SIMs that tickets change: the locked state, memberships, and active spans. */

import { sql } from 'kysely'
import { SimStatus } from '../../../domain/codes.ts'
import type { SimState } from '../../../domain/tickets/decisions.ts'
import { ahead, anyOf, kept } from '../../../store/kept.ts'
import type { TenantTx } from '../../../store/tenancy.ts'

export interface LockedSim extends SimState {
  readonly simId: number
  readonly iccid: string
}

const states = sql`
  select s.id as "simId", s.iccid, s.status, s.pool_id as "poolId", s.tariff_id as "tariffId",
         (select cause from suspensions u where u.sim_id = s.id and u.closed_at is null) as "suspendedBy"
    from sims s`

/** Locks a SIM and reads the part that tickets change; undefined if there is no such SIM. */
export async function lockSim(tx: TenantTx, simId: number): Promise<LockedSim | undefined> {
  const { rows } = await sql<LockedSim>`${kept} ${states} where s.id = ${simId} for update of s`.execute(tx.q)
  return rows[0]
}

/** Locks SIMs in id order. */
export async function lockSims(tx: TenantTx, simIds: readonly number[]): Promise<void> {
  await sql`${kept}${ahead}
    select 1 from sims where id = ${anyOf(simIds)}
     order by id for update`.execute(tx.q)
}

/** Reads the part of SIMs that tickets change, by id. Takes no lock. */
export async function readSimStates(tx: TenantTx, simIds: readonly number[]): Promise<LockedSim[]> {
  const { rows } = await sql<LockedSim>`${kept}
    ${states} where s.id = ${anyOf(simIds)} order by s.id`.execute(tx.q)
  return rows
}

/** The state of a SIM after a ticket. */
export interface SimChange {
  readonly sim: LockedSim
  readonly after: SimState
  /** Omitted: unchanged. */
  readonly provisionedAt?: Date | null
  /** Null or omitted: unchanged. */
  readonly tag?: string | null
  /** Removes the change queued for the cycle's end: always, or only if it was queued before an instant. */
  readonly forgetQueued?: 'always' | Date
}

/**
 * Writes the state of SIMs after their tickets. Call with the SIMs locked. The trigger `sims_counted` locks and counts
 * the pools that they leave and join, by id.
 */
export async function writeSimStates(tx: TenantTx, changes: readonly SimChange[]): Promise<void> {
  if (changes.length === 0) return
  for (const { sim, after } of changes) {
    if (sim.status === after.status) continue
    tx.tally({ simId: sim.simId, status: sim.status, by: -1 })
    tx.tally({ simId: sim.simId, status: after.status, by: 1 })
  }
  const rows = changes.map(({ sim: { simId }, after, provisionedAt, tag = null, forgetQueued }) => ({
    simId,
    ...after,
    setsProvisioned: provisionedAt !== undefined,
    provisionedAt: provisionedAt ?? null,
    tag,
    forgetBefore: forgetQueued === 'always' ? 'infinity' : (forgetQueued ?? null),
  }))
  const keeps = sql`(r."forgetBefore" is null or coalesce(s.pending_since >= r."forgetBefore", false))`
  await sql`${kept}
    update sims s
       set status_since = case when s.status = r.status then s.status_since else ${tx.now} end,
           status = r.status, pool_id = r."poolId", tariff_id = r."tariffId",
           provisioned_at = case when r."setsProvisioned" then r."provisionedAt" else s.provisioned_at end,
           tag = coalesce(r.tag, s.tag),
           pending_pool_id = case when ${keeps} then s.pending_pool_id end,
           pending_tariff_id = case when ${keeps} then s.pending_tariff_id end,
           pending_unassign = ${keeps} and s.pending_unassign,
           pending_since = case when ${keeps} then s.pending_since end,
           version = s.version + 1, updated_at = ${tx.now}
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as r(
             "simId" bigint, status smallint, "poolId" integer, "tariffId" integer, "setsProvisioned" boolean,
             "provisionedAt" timestamptz, tag text, "forgetBefore" timestamptz)
     where s.id = r."simId"`.execute(tx.q)
}

/** A SIM, and the start of a state of it. */
export interface SimSince {
  readonly simId: number
  readonly at: Date
}

const since = (sims: readonly SimSince[]) => sql`
  unnest(${sims.map(({ simId }) => simId)}::bigint[], ${sims.map(({ at }) => at)}::timestamptz[]) as r(sim_id, at)`

/** Opens a membership of each SIM in its pool, with its own tariff. Pool 0 stands for no pool. */
export async function openMemberships(
  tx: TenantTx,
  sims: readonly (SimSince & Pick<SimState, 'poolId' | 'tariffId'>)[],
): Promise<void> {
  if (sims.length === 0) return
  await sql`
    insert into memberships (sim_id, pool_id, tariff_id, from_at)
    select sim_id, pool_id, tariff_id, at
      from unnest(${sims.map(({ simId }) => simId)}::bigint[], ${sims.map(({ poolId }) => poolId ?? 0)}::integer[],
                  ${sims.map(({ tariffId }) => tariffId)}::integer[], ${sims.map(({ at }) => at)}::timestamptz[])
             as r(sim_id, pool_id, tariff_id, at)`.execute(tx.q)
}

/** Ends the SIMs' open memberships. An end before its start leaves an empty span. */
export async function closeMemberships(tx: TenantTx, sims: readonly SimSince[]): Promise<void> {
  if (sims.length === 0) return
  await sql`
    update memberships m set to_at = greatest(m.from_at, r.at) from ${since(sims)}
     where m.sim_id = r.sim_id and m.to_at is null`.execute(tx.q)
}

/** Records from when on SIMs are Active, or until when they were. */
export async function openActiveSpans(
  tx: TenantTx,
  sims: readonly (SimSince & { readonly until?: Date | null | undefined })[],
): Promise<void> {
  if (sims.length === 0) return
  await sql`
    insert into active_spans (sim_id, from_at, to_at)
    select sim_id, at, until
      from unnest(${sims.map(({ simId }) => simId)}::bigint[], ${sims.map(({ at }) => at)}::timestamptz[],
                  ${sims.map(({ until = null }) => until)}::timestamptz[]) as r(sim_id, at, until)`.execute(tx.q)
}

/** Ends the SIMs' open active spans. An end before its start leaves an empty span. */
export async function closeActiveSpans(tx: TenantTx, sims: readonly SimSince[]): Promise<void> {
  if (sims.length === 0) return
  await sql`
    update active_spans a set to_at = greatest(a.from_at, r.at) from ${since(sims)}
     where a.sim_id = r.sim_id and a.to_at is null`.execute(tx.q)
}

/** Whether a SIM in this state may use the network. */
export const isActive = (sim: SimState): boolean => sim.status === SimStatus.Active
