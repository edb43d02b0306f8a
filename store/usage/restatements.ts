/** Pools of closed cycles whose ledger has changed since they were last stated: the next statement has the difference. */
import { type RawBuilder, sql } from 'kysely'
import type { TenantTx } from '../tenancy.ts'

/**
 * A change of pools' totals that notes which of them are of closed cycles. One statement, and it looks at no cycle but
 * those that the change is of. Call with the pools and their cycles locked: a cycle that is being closed has the
 * change in its statement or notes it.
 *
 * @param change an update of pool_cycles, without `returning`
 */
export const restating = (tx: TenantTx, change: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  with changed as (
    ${change} returning cycle_key, pool_id
  )
  insert into restatements (cycle_key, pool_id)
  select h.cycle_key, h.pool_id
    from changed h
    join cycles c on c.tenant_id = ${tx.tenantId} and c.key = h.cycle_key
   where c.closed_at is not null
   order by h.cycle_key, h.pool_id
  on conflict do nothing`

/** Pools of a cycle that are to be stated anew; 0: outside pools. */
export interface AdjustedCycle {
  readonly cycleKey: string
  readonly poolIds: readonly number[]
}

/** What has changed since it was stated, the oldest cycle first. */
export async function changedSince(tx: TenantTx): Promise<AdjustedCycle[]> {
  const { rows } = await sql<AdjustedCycle>`
    select cycle_key as "cycleKey", array_agg(pool_id order by pool_id) as "poolIds"
      from restatements where tenant_id = ${tx.tenantId} group by cycle_key order by cycle_key`.execute(tx.q)
  return rows
}

/** The difference is stated. Call with the pools locked. */
export async function settleAdjusted(tx: TenantTx, { cycleKey, poolIds }: AdjustedCycle): Promise<void> {
  await sql`
    delete from restatements
     where tenant_id = ${tx.tenantId} and cycle_key = ${cycleKey} and pool_id = any(${[...poolIds]}::integer[])`.execute(
    tx.q,
  )
}
