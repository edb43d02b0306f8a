/** SIMs: their columns, and the SIMs with given ids or ICCIDs. */
import { type RawBuilder, sql } from 'kysely'
import { ServiceError } from '../../../domain/errors.ts'
import type { SimLookup } from '../../../domain/sims/sim.ts'
import { anyOf, kept } from '../../../store/kept.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'
import { settingsColumns } from '../../pools/rows/pools.ts'

/** A SIM `s` with its own watchdog settings. @param seat source of its pool and tariff */
export const simColumns = (seat: RawBuilder<unknown> = sql`s`): RawBuilder<unknown> => sql`
  s.iccid, s.tag, s.type, s.status, ${seat}.pool_id as "poolId", ${seat}.tariff_id as "tariffId",
  s.is_watchdog_exempt as exempt, ${settingsColumns('s')}`

/** A SIM's label for people: its ICCID, and its tag if it has one. */
export const labelOfSim = ({ iccid, tag }: Pick<NamedSim, 'iccid' | 'tag'>): string =>
  tag === '' ? iccid : `${iccid} (${tag})`

/** A SIM's label for people, and its pool. */
export interface NamedSim {
  readonly label: string
  readonly iccid: string
  /** Empty if it has none. */
  readonly tag: string
  /** Null outside pools. */
  readonly poolId: number | null
}

/** Labels and pools of SIMs, by id. SIMs that do not exist are left out. */
export async function namedSims(tx: TenantTx, ids: readonly number[]): Promise<Map<number, NamedSim>> {
  const { rows } = await sql<{ id: number; iccid: string; tag: string; poolId: number | null }>`${kept}
    select id, iccid, tag, pool_id as "poolId" from sims
     where id = ${anyOf(ids)}`.execute(tx.q)
  return new Map(rows.map(({ id, ...sim }) => [id, { label: labelOfSim(sim), ...sim }]))
}

/**
 * The label and the pool of a SIM, for a caller that may name a SIM that does not exist.
 *
 * @throws ServiceError `sim_not_found`
 */
export async function knownSim(tx: TenantTx, simId: number): Promise<NamedSim> {
  const sim = (await namedSims(tx, [simId])).get(simId)
  if (sim === undefined) throw new ServiceError('sim_not_found', `There is no SIM ${simId}.`)
  return sim
}

/** Labels of SIMs, by id. SIMs that do not exist are left out. */
export const simLabels = async (tx: TenantTx, ids: readonly number[]): Promise<Map<number, string>> =>
  new Map([...(await namedSims(tx, ids))].map(([id, { label }]) => [id, label]))

/** Label of one SIM; its id if there is no such SIM. */
export const simLabel = async (tx: TenantTx, id: number): Promise<string> =>
  (await simLabels(tx, [id])).get(id) ?? String(id)

/** The given ids that are not SIMs of the tenant. */
export async function missingSims(tx: TenantTx, ids: readonly number[]): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select a.id from unnest(${[...ids]}::bigint[]) as a(id)
     where not exists (select from sims s where s.id = a.id)`.execute(tx.q)
  return rows.map(({ id }) => id)
}

/** @returns whether there is such a SIM */
export async function simExists(tx: TenantTx, id: number): Promise<boolean> {
  const { rows } = await sql`select 1 from sims where id = ${id}`.execute(tx.q)
  return rows.length > 0
}

/** Id of the SIM with this id or ICCID; undefined if there is none. */
export async function findSimId(tx: TenantTx, lookup: SimLookup): Promise<number | undefined> {
  const which = lookup.by === 'id' ? sql`id = ${lookup.id}` : sql`iccid = ${lookup.iccid}`
  const { rows } = await sql<{ id: number }>`
    select id from sims where tenant_id = ${mine} and ${which}`.execute(tx.q)
  return rows[0]?.id
}

/**
 * Finds which of these ICCIDs SIMs have.
 *
 * @returns the SIM's id by ICCID; null for a SIM of another tenant
 */
export async function findIccids(tx: TenantTx, iccids: readonly string[]): Promise<Map<string, number | null>> {
  const { rows } = await sql<{ iccid: string; id: number | null }>`
    select iccid, id from sims_with_iccids(${[...iccids]}::text[])`.execute(tx.q)
  return new Map(rows.map(({ iccid, id }) => [iccid, id]))
}
