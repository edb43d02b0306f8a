/** The work of a month end: queued changes, suspensions that end with the cycle, and the cycle's row. */
import { sql } from 'kysely'
import type { PoolChange } from '../../../domain/month-end/month-end.ts'
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

export async function findCycle(tx: TenantTx, key: string): Promise<CycleRow | undefined> {
  const { rows } = await sql<CycleRow>`
    select ${columns} from cycles where tenant_id = ${mine} and key = ${key}`.execute(tx.q)
  return rows[0]
}

/** Locks and reads a cycle's row: only one transaction closes it; undefined if it has not been opened. */
export async function lockCycle(tx: TenantTx, key: string): Promise<CycleRow | undefined> {
  const { rows } = await sql<CycleRow>`
    select ${columns} from cycles where tenant_id = ${mine} and key = ${key} for update`.execute(tx.q)
  return rows[0]
}

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

/** A change queued for a cycle's end, with the obstacles to its start. */
export interface ProgressChange {
  readonly change: PoolChange
  /** Why it failed at this cycle's end; null if it has not. Only a person can restart it. */
  readonly failed: { readonly code: string; readonly detail: string } | null
  /** Whether a ticket of another month end, or of a change queued earlier, is still open. The change is left to it. */
  readonly leftToOther: boolean
}

/** Changes queued before a cycle's end and still queued, by SIM id. */
export async function queuedChanges(
  tx: TenantTx,
  cycle: Cycle,
  ask: { readonly afterSimId: number; readonly limit: number },
): Promise<ProgressChange[]> {
  const kind = sql`case when s.pending_unassign then 'unassign' else 'move' end`
  const { rows } = await sql<
    PoolChange &
      Pick<ProgressChange, 'leftToOther'> & { hasFailed: boolean; code: string | null; detail: string | null }
  >`
    select s.id as "simId", s.iccid, s.pending_pool_id as "poolId", s.pending_tariff_id as "tariffId",
           s.pending_unassign as unassign, m.sim_id is not null as "hasFailed", m.code, m.detail,
           exists (select 1 from month_end_changes e
                    where e.sim_id = s.id and e.outcome = 'open' and e.kind <> 'return'
                      and (e.cycle_key <> ${cycle.key} or e.kind <> ${kind})) as "leftToOther"
      from sims s
      left join month_end_changes m
        on m.tenant_id = s.tenant_id and m.cycle_key = ${cycle.key} and m.kind = ${kind} and m.sim_id = s.id
       and m.outcome = 'failed'
     where s.tenant_id = ${mine} and s.pending_since < ${new Date(cycle.endsAt)} and s.id > ${ask.afterSimId}
     order by s.id limit ${ask.limit}`.execute(tx.q)
  return rows.map(({ leftToOther, hasFailed, code, detail, ...change }) => ({
    change,
    failed: hasFailed ? { code: code ?? '', detail: detail ?? '' } : null,
    leftToOther,
  }))
}

export interface OpenSuspension {
  readonly simId: number
  readonly workflowId: string | null
}

/** Open suspensions by the watchdog until the renewal, from this cycle or an earlier one, by SIM id. */
export async function suspensionsToRenew(
  tx: TenantTx,
  cycleKey: string,
  afterSimId: number,
  limit: number,
  throughSimId: number = Number.MAX_SAFE_INTEGER,
): Promise<OpenSuspension[]> {
  const { rows } = await sql<OpenSuspension>`
    select sim_id as "simId", workflow_id as "workflowId"
      from suspensions
     where tenant_id = ${mine} and closed_at is null and cause = 'watchdog' and until = 'renewal'
       and cycle_key <= ${cycleKey} and sim_id > ${afterSimId} and sim_id <= ${throughSimId}
     order by sim_id limit ${limit}`.execute(tx.q)
  return rows
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
  await ensurePools(
    tx,
    cycle.key,
    rows.map(({ id }) => id),
  )
}

/** Counts all suspended SIMs, of any origin. */
export async function stillSuspended(tx: TenantTx): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from suspensions where tenant_id = ${mine} and closed_at is null`.execute(tx.q)
  return rows[0]?.count ?? 0
}

const MOST_FAILURES = 200

/** Changes that failed at a cycle's end and have not completed since, for the summary; at most 200. */
export async function failedChanges(
  tx: TenantTx,
  cycleKey: string,
): Promise<{ iccid: string; what: string; reason: string }[]> {
  const { rows } = await sql<{ iccid: string; what: string; reason: string }>`
    select s.iccid, m.kind as what, coalesce(m.detail, '') as reason
      from month_end_changes m
      join sims s on s.id = m.sim_id
     where m.tenant_id = ${mine} and m.cycle_key = ${cycleKey} and m.outcome = 'failed' and m.kind in ('unassign', 'move')
     order by m.kind desc, m.sim_id limit ${MOST_FAILURES}`.execute(tx.q)
  return rows
}
