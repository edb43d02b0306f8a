/** Stores the SIMs that the enforcement of a pool has armed in a cycle, until the cycle is closed. */
import { sql } from 'kysely'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

/** A pool in a cycle. */
export interface PoolInCycle {
  readonly poolId: number
  readonly cycle: string
}

/** Stores SIMs as armed by a pool. Safe to run twice. @returns how many it had not armed before */
export async function keepArms(
  tx: TenantTx,
  { poolId, cycle }: PoolInCycle,
  simIds: readonly number[],
): Promise<number> {
  const { rows } = await sql`
    insert into pool_arms (cycle_key, pool_id, sim_id, armed_at)
    select ${cycle}, ${poolId}, id, ${tx.now} from unnest(${[...simIds]}::bigint[]) as a(id) order by id
    on conflict do nothing returning 1`.execute(tx.q)
  return rows.length
}

/** SIMs that a pool has armed, by id. */
export async function armsAfter(
  tx: TenantTx,
  { poolId, cycle }: PoolInCycle,
  { afterSimId, limit }: { readonly afterSimId: number; readonly limit: number },
): Promise<number[]> {
  const { rows } = await sql<{ simId: number }>`
    select sim_id as "simId" from pool_arms
     where tenant_id = ${mine} and cycle_key = (select ${cycle}::text) and pool_id = ${poolId} and sim_id > ${afterSimId}
     order by sim_id limit ${limit}`.execute(tx.q)
  return rows.map(({ simId }) => simId)
}

/** How many SIMs a pool has armed. */
export async function countArms(tx: TenantTx, { poolId, cycle }: PoolInCycle): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from pool_arms
     where tenant_id = ${mine} and cycle_key = (select ${cycle}::text) and pool_id = ${poolId}`.execute(tx.q)
  return rows[0]?.count ?? 0
}

/** Deletes the armed SIMs of all pools in a cycle. */
export async function forgetArms(tx: TenantTx, cycle: string): Promise<void> {
  await sql`delete from pool_arms where tenant_id = ${mine} and cycle_key = ${cycle}`.execute(tx.q)
}
