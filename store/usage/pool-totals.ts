/** Totals of pools in a billing cycle. */

import { sql } from 'kysely'
import type { TenantTx } from '../tenancy.ts'
import { restating } from './restatements.ts'

/**
 * Makes missing rows of pool totals in a cycle, so that a pool has its capacity before any usage.
 *
 * @returns the pool ids, sorted and without duplicates
 */
export async function ensurePools(tx: TenantTx, cycleKey: string, poolIds: readonly number[]): Promise<number[]> {
  const ids = [...new Set(poolIds)].sort((a, b) => a - b)
  await sql`
    insert into pool_cycles (cycle_key, pool_id)
    select ${cycleKey}, id from unnest(${ids}::integer[]) as p(id) order by id
    on conflict do nothing`.execute(tx.q)
  return ids
}

/**
 * Locks pools' totals in a cycle, in id order, and makes missing rows. Call it before changing ledger rows of a pool.
 * It keeps totals, ledger rows and divisions at the same version.
 */
export async function lockPools(tx: TenantTx, cycleKey: string, poolIds: readonly number[]): Promise<void> {
  const ids = await ensurePools(tx, cycleKey, poolIds)
  await sql`
    select 1 from pool_cycles
     where tenant_id = ${tx.tenantId} and cycle_key = ${cycleKey} and pool_id = any(${ids}::integer[])
     order by pool_id
       for update`.execute(tx.q)
}

/** Amounts to add to a pool's totals; negative amounts are taken from them. Omitted: 0. */
export interface PoolDelta {
  readonly bytes?: number
  readonly voiceSeconds?: number
  readonly smsCount?: number
  readonly contributing?: number
}

/** Changes a pool's totals in a cycle, and raises its usage version. Call with the cycle and the pool locked. */
export async function addToPool(tx: TenantTx, cycleKey: string, poolId: number, delta: PoolDelta): Promise<void> {
  await restating(
    tx,
    sql`
      update pool_cycles
         set bytes = bytes + ${delta.bytes ?? 0}, voice_seconds = voice_seconds + ${delta.voiceSeconds ?? 0},
             sms_count = sms_count + ${delta.smsCount ?? 0}, contributing = contributing + ${delta.contributing ?? 0},
             usage_version = usage_version + 1
       where tenant_id = ${tx.tenantId} and cycle_key = ${cycleKey} and pool_id = ${poolId}`,
  ).execute(tx.q)
}
