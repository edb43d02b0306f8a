/**
 * Restatements: pools of closed cycles whose ledger has changed since they were last stated. The next statement has the
 * difference.
 */
import { type RawBuilder, sql } from 'kysely'
import type { TenantTx } from '../tenancy.ts'

/**
 * Changes pool totals, and records which of the changed pools belong to closed cycles. One statement, which reads only
 * the cycles that the change concerns. Call with the pools and their cycles locked. If a cycle is being closed, the
 * change is then either in its statement or recorded here.
 *
 * @param change an update of `pool_cycles p`, without `returning`
 */
export const restating = (tx: TenantTx, change: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  with changed as (
    ${change} returning p.cycle_key, p.pool_id
  )
  insert into restatements (cycle_key, pool_id)
  select h.cycle_key, h.pool_id
    from changed h
    join cycles c on c.tenant_id = ${tx.tenantId} and c.key = h.cycle_key
   where c.closed_at is not null
   order by h.cycle_key, h.pool_id
  on conflict do nothing`

/** Pools of a closed cycle to be stated again; 0: outside pools. */
export interface AdjustedCycle {
  readonly cycleKey: string
  readonly poolIds: readonly number[]
}

/** The closed cycles and pools that have changed since they were stated, oldest cycle first. */
export async function changedSince(tx: TenantTx): Promise<AdjustedCycle[]> {
  const { rows } = await sql<AdjustedCycle>`
    select cycle_key as "cycleKey", array_agg(pool_id order by pool_id) as "poolIds"
      from restatements where tenant_id = ${tx.tenantId} group by cycle_key order by cycle_key`.execute(tx.q)
  return rows
}

/** Deletes restatements whose difference has been stated. Call with the pools locked. */
export async function settleAdjusted(tx: TenantTx, { cycleKey, poolIds }: AdjustedCycle): Promise<void> {
  await sql`
    delete from restatements
     where tenant_id = ${tx.tenantId} and cycle_key = ${cycleKey} and pool_id = any(${[...poolIds]}::integer[])`.execute(
    tx.q,
  )
}
