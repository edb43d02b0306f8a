/**
 * Restatements: pools of closed cycles with a changed ledger since their last statement. The next statement has the
 * difference.
 */
import { type RawBuilder, sql } from 'kysely'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

/**
 * Changes pool totals, and records changed pools of closed cycles. Takes one statement, and reads only the changed
 * cycles. Call with the pools and their cycles locked. If a cycle is being closed, the change is then either in its
 * statement or recorded here.
 *
 * @param change an insert into `pool_cycles as p` that updates existing rows, without `returning`
 */
export const restating = (tx: TenantTx, change: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  with changed as (
    ${change} returning p.cycle_key, p.pool_id
  )
  insert into restatements (cycle_key, pool_id)
  select h.cycle_key, h.pool_id
    from changed h
   cross join lateral (select closed_at from cycles where tenant_id = ${mine} and key = h.cycle_key limit 1) c
   where c.closed_at is not null
   order by h.cycle_key, h.pool_id
  on conflict do nothing`

/**
 * Records pools of a cycle that changed after their lines were written, before the statement was complete: their usage
 * has another version. The origin of the change does not matter. Call with the cycle locked alone.
 */
export async function markChangedSince(tx: TenantTx, cycleKey: string): Promise<void> {
  await sql`
    insert into restatements (cycle_key, pool_id)
    select c.cycle_key, c.pool_id
      from pool_cycles c
      left join statement_parts s
        on s.tenant_id = c.tenant_id and s.cycle_key = c.cycle_key and s.adjusts = '' and s.pool_id = c.pool_id
     where c.tenant_id = ${mine} and c.cycle_key = ${cycleKey}
       and s.usage_version is distinct from c.usage_version
     order by c.pool_id
    on conflict do nothing`.execute(tx.q)
}

/** How far the statement of a cycle has come. */
export interface StatedCycle {
  readonly key: string
  /** Whether it is closed, or at least all its own lines are written. */
  readonly isWhole: boolean
  /** The place of the last written line: all pools before it are stated, and of its pool the SIMs up to it. */
  readonly poolId: number
  readonly simId: number
}

/** The given cycles that are closed, or have a statement with some lines written. */
export async function statedCycles(tx: TenantTx, keys: readonly string[]): Promise<StatedCycle[]> {
  const { rows } = await sql<StatedCycle>`
    select c.key, c.closed_at is not null or s.adjusts <> '' as "isWhole", coalesce(s.pool_id, -1) as "poolId",
           coalesce(s.sim_id, 0) as "simId"
      from cycles c
      left join statement_progress s on s.tenant_id = c.tenant_id and s.cycle_key = c.key
     where c.tenant_id = ${mine} and c.key = any(${[...keys]}::text[])
       and (c.closed_at is not null or s.cycle_key is not null)`.execute(tx.q)
  return rows
}

/** Whether the line of a SIM in a pool (0: outside pools) is written. If its pool is locked, that is final. */
export const isStated = (
  { isWhole, poolId, simId }: StatedCycle,
  place: { readonly simId: number; readonly poolId: number },
): boolean => isWhole || place.poolId < poolId || (place.poolId === poolId && place.simId <= simId)

/** Pools of a closed cycle to be stated again; 0: outside pools. */
export interface AdjustedCycle {
  readonly cycleKey: string
  readonly poolIds: readonly number[]
}

/** The changed pools of closed cycles to be stated again, oldest cycle first. */
export async function changedSince(tx: TenantTx): Promise<AdjustedCycle[]> {
  const { rows } = await sql<AdjustedCycle>`
    select cycle_key as "cycleKey", array_agg(pool_id order by pool_id) as "poolIds"
      from restatements where tenant_id = ${mine} group by cycle_key order by cycle_key`.execute(tx.q)
  return rows
}

/** Deletes restatements after their difference was stated. Call with the pools locked. */
export async function settleAdjusted(tx: TenantTx, { cycleKey, poolIds }: AdjustedCycle): Promise<void> {
  await sql`
    delete from restatements
     where tenant_id = ${mine} and cycle_key = ${cycleKey} and pool_id = any(${[...poolIds]}::integer[])`.execute(tx.q)
}
