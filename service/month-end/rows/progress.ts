/** The cycle's row in a month end, and the figures of its summary. */
import { sql } from 'kysely'
import type { Cycle } from '../../../domain/time/cycle.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'
import { ensurePools } from '../../usage/rows/pool-totals.ts'

export interface CycleRow {
  readonly key: string
  readonly startsAt: Date
  readonly endsAt: Date
  readonly openedAt: Date
  readonly closedAt: Date | null
  /** When the last line of its statement was written; null also if the transaction that closed the cycle wrote it. */
  readonly statedAt: Date | null
  readonly recordsAccepted: number
  readonly recordsDuplicate: number
}

const columns = sql`key, starts_at as "startsAt", ends_at as "endsAt", opened_at as "openedAt", closed_at as "closedAt",
  stated_at as "statedAt", records_accepted as "recordsAccepted", records_duplicate as "recordsDuplicate"`

/** Open cycles that began or have usage already, newest first. */
export async function listCycles(tx: TenantTx, limit: number): Promise<CycleRow[]> {
  const { rows } = await sql<CycleRow>`
    select ${columns} from cycles
     where tenant_id = ${mine} and (starts_at <= ${tx.now} or records_accepted + records_duplicate > 0)
     order by starts_at desc limit ${limit}`.execute(tx.q)
  return rows
}

/** Whether some cycle has ended and is not closed. */
export async function hasLateMonthEnd(tx: TenantTx): Promise<boolean> {
  const { rows } = await sql`
    select 1 from cycles where tenant_id = ${mine} and closed_at is null and ends_at <= ${tx.now} limit 1`.execute(tx.q)
  return rows.length > 0
}

const oneCycle = (key: string) => sql<CycleRow>`
  select ${columns} from cycles where tenant_id = ${mine} and key = ${key}`

/** Reads a cycle's row; undefined if it has not been opened. */
export const findCycle = async (tx: TenantTx, key: string): Promise<CycleRow | undefined> =>
  (await oneCycle(key).execute(tx.q)).rows[0]

/** As {@link findCycle}, with the row locked: only one transaction closes a cycle. */
export const lockCycle = async (tx: TenantTx, key: string): Promise<CycleRow | undefined> =>
  (await sql<CycleRow>`${oneCycle(key)} for update`.execute(tx.q)).rows[0]

export async function markClosed(tx: TenantTx, key: string): Promise<void> {
  await sql`
    update cycles set closed_at = ${tx.now}, version = version + 1
     where tenant_id = ${mine} and key = ${key}`.execute(tx.q)
}

/**
 * Notes that all lines of a cycle's statement are written. Waits for transactions that called `keepUnclosed`: from now
 * on no work on alerts of the cycle is done.
 */
export async function markStated(tx: TenantTx, key: string): Promise<void> {
  await lockCycle(tx, key)
  await sql`
    update cycles set stated_at = ${tx.now}
     where tenant_id = ${mine} and key = ${key} and stated_at is null`.execute(tx.q)
}

/** Makes the missing rows of totals of the pools that existed in a cycle: these and no others may be stated. */
export async function ensureLedgerPools(tx: TenantTx, cycle: Cycle): Promise<void> {
  const { rows } = await sql<{ id: number }>`
    select id from pools p
     where tenant_id = ${mine} and created_at < ${new Date(cycle.endsAt)}
       and (deleted_at is null or deleted_at > ${new Date(cycle.startsAt)})
       and not exists (select from pool_cycles c
                        where c.tenant_id = p.tenant_id and c.cycle_key = ${cycle.key} and c.pool_id = p.id)`.execute(
    tx.q,
  )
  const poolIds = rows.map(({ id }) => id)
  await ensurePools(tx, cycle.key, poolIds)
}

/** Counts all suspended SIMs, of any origin. */
export async function stillSuspended(tx: TenantTx): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from suspensions where tenant_id = ${mine} and closed_at is null`.execute(tx.q)
  return rows[0]?.count ?? 0
}

const MOST_FAILURES = 200

/** Changes that failed at a cycle's end and have not completed since, for the summary; at most 200. */
export async function failedChanges(tx: TenantTx, cycleKey: string) {
  const { rows } = await sql<{ iccid: string; what: string; reason: string }>`
    select s.iccid, m.kind as what, coalesce(m.detail, '') as reason
      from month_end_changes m
      join sims s on s.id = m.sim_id
     where m.tenant_id = ${mine} and m.cycle_key = ${cycleKey} and m.outcome = 'failed' and m.kind in ('unassign', 'move')
     order by m.kind desc, m.sim_id limit ${MOST_FAILURES}`.execute(tx.q)
  return rows
}
