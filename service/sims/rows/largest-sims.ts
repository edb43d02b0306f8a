/** The SIMs that have used the most data of a pool. */
import { sql } from 'kysely'
import type { LargestSim } from '../../../domain/pools/largest-sims.ts'
import { toMB } from '../../../domain/units.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'
import { runningCycle } from '../../usage/rows/cycles.ts'

/**
 * Reads them for the running cycle, the largest first, also those that have left the pool. SIMs without data are left
 * out. All ledger rows of the pool are read: an index by bytes would be written with each chunk of usage.
 */
export async function readLargestSims(tx: TenantTx, poolId: number, limit: number): Promise<LargestSim[]> {
  const { key } = await runningCycle(tx)
  const { rows } = await sql<Omit<LargestSim, 'usageMB' | 'sharePct'> & { bytes: number; ofBytes: number }>`
    select l.sim_id as id, s.iccid, s.tag, s.status, s.pool_id is not distinct from ${poolId}::integer as "isInPool",
           l.bytes, p.bytes as "ofBytes"
      from (select sim_id, bytes from usage_ledger
             where tenant_id = ${mine} and cycle_key = ${key} and pool_id = ${poolId} and bytes > 0
             order by bytes desc, sim_id limit ${limit}) l
     cross join lateral (select iccid, tag, status, pool_id from sims where id = l.sim_id limit 1) s
     cross join lateral (
       select bytes from pool_cycles
        where tenant_id = ${mine} and cycle_key = ${key} and pool_id = ${poolId} limit 1) p
     order by l.bytes desc, l.sim_id`.execute(tx.q)
  return rows.map(({ bytes, ofBytes, ...sim }) => ({
    ...sim,
    usageMB: toMB(bytes),
    // Corrections can make a pool's usage less than that of a SIM.
    sharePct: (100 * bytes) / Math.max(bytes, ofBytes),
  }))
}
