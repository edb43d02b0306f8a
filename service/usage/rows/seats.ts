/** The SIMs that contribute to a cycle, opened or not. */
import { type RawBuilder, sql } from 'kysely'
import type { Cycle } from '../../../domain/time/cycle.ts'
import type { Allowance } from '../../../domain/usage/allowance.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'
import { contributors, theseSims } from './contributors.ts'

/** Allowances of all tariffs visible to the tenant, by tariff id. */
export async function readAllowances(tx: TenantTx): Promise<Map<number, Allowance>> {
  const { rows } = await sql<Allowance & { id: number }>`
    select id, type, allowance_bytes as "allowanceBytes" from tariffs`.execute(tx.q)
  return new Map(rows.map(({ id, ...allowance }) => [id, allowance]))
}

/** A SIM that contributes to a pool (0: outside pools), with its own tariff, if any. */
export interface Seat {
  readonly simId: number
  readonly poolId: number
  readonly tariffId: number | null
}

/**
 * Selects the SIMs that contribute to a cycle: by its ledger once it is opened, before by the rows that opening it
 * would write.
 */
const seats = (tx: TenantTx, cycle: Cycle, opened: boolean, simIds?: readonly number[]): RawBuilder<unknown> => {
  const among = simIds === undefined ? undefined : theseSims(simIds)
  if (!opened) return contributors(tx, cycle, among)
  return sql`
    select sim_id, pool_id, tariff_id from usage_ledger
     where tenant_id = ${mine} and cycle_key = (select ${cycle.key}::text) and contributing
       ${among === undefined ? sql`` : sql`and ${among(sql`sim_id`)}`}`
}

/** Counts the SIMs that contribute to each pool, or to some of them, by their own tariff. */
export async function seatCounts(
  tx: TenantTx,
  cycle: Cycle,
  opened: boolean,
  poolIds?: readonly number[],
): Promise<{ readonly poolId: number; readonly tariffId: number | null; readonly sims: number }[]> {
  const ofPools = poolIds === undefined ? sql`` : sql`where pool_id = any(${[...poolIds]}::integer[])`
  const { rows } = await sql<{ poolId: number; tariffId: number | null; sims: number }>`
    select pool_id as "poolId", tariff_id as "tariffId", count(*)::integer as sims
      from (${seats(tx, cycle, opened)}) s ${ofPools} group by pool_id, tariff_id`.execute(tx.q)
  return rows
}

/** The seats of given SIMs, by SIM id. A SIM that contributes nowhere is left out. */
export async function seatsOf(
  tx: TenantTx,
  cycle: Cycle,
  opened: boolean,
  simIds: readonly number[],
): Promise<Map<number, Seat[]>> {
  const { rows } = await sql<Seat>`
    select sim_id as "simId", pool_id as "poolId", tariff_id as "tariffId"
      from (${seats(tx, cycle, opened, simIds)}) s`.execute(tx.q)
  return Map.groupBy(rows, ({ simId }) => simId)
}
