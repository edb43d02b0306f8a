/** Counts over a tenant's estate, for the summary and the operator. */
import { sql } from 'kysely'
import { LogLevel, labelOf, SimStatus, TicketStatus } from '../domain/codes.ts'
import { mine, type TenantTx } from './tenancy.ts'

interface Count {
  readonly code: number
  readonly count: number
}

const byLabel = (table: Readonly<Record<string, number>>, rows: readonly Count[]) =>
  Object.fromEntries(rows.map(({ code, count }) => [labelOf(table, code), count]))

export async function simsByStatus(tx: TenantTx): Promise<Partial<Record<keyof typeof SimStatus, number>>> {
  const { rows } = await sql<Count>`
    select status as code, sum(sims)::integer as count from sim_blocks
     where tenant_id = ${mine} group by status having sum(sims) <> 0 order by status`.execute(tx.q)
  return byLabel(SimStatus, rows)
}

export async function ticketsByStatus(tx: TenantTx): Promise<Record<string, number>> {
  const { rows } = await sql<Count>`
    select status as code, count(*)::integer as count from tickets
     where tenant_id = ${mine} group by status order by status`.execute(tx.q)
  return byLabel(TicketStatus, rows)
}

/** Counts log entries by rule and label of their level. Entries without a rule have an empty rule name. */
export async function logByRule(tx: TenantTx): Promise<{ rule: string; level: string; count: number }[]> {
  const { rows } = await sql<{ rule: string; level: number; count: number }>`
    select coalesce(rule, '') as rule, level, count(*)::integer as count from watchdog_log
     where tenant_id = ${mine} group by 1, 2 order by 1, 2`.execute(tx.q)
  return rows.map((row) => ({ ...row, level: labelOf(LogLevel, row.level) }))
}

/** Counts mails by status: pending, sent or failed. */
export async function mailsByStatus(tx: TenantTx): Promise<Record<string, number>> {
  const { rows } = await sql<{ status: string; count: number }>`
    select status, count(*)::integer as count from deliveries
     where tenant_id = ${mine} and mail_id is not null group by status order by status`.execute(tx.q)
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}

/** Open work: due or changed subjects and due shards; notices without a mail; requests not yet sent. */
export async function dueWork(tx: TenantTx): Promise<{ evaluations: number; notices: number; requests: number }> {
  const { rows } = await sql<{ evaluations: number; notices: number; requests: number }>`
    select ((select count(*) from due_subjects where tenant_id = ${mine} and due_at <= ${tx.now})
            + (select coalesce(sum(cardinality(sim_ids) + cardinality(pool_ids)), 0) from changed_subjects
                where tenant_id = ${mine} and (due_at is null or due_at <= ${tx.now}))
            + (select count(*) from watch_shards where tenant_id = ${mine} and next_at <= ${tx.now})
           )::integer as evaluations,
           (select count(*) from notifications where tenant_id = ${mine} and mail_id is null)::integer as notices,
           (select count(*) from workflow_outbox where tenant_id = ${mine} and done_at is null)::integer as requests`.execute(
    tx.q,
  )
  return rows[0] ?? { evaluations: 0, notices: 0, requests: 0 }
}

/** The number of SIMs in a pool, or (null) of the tenant's provisioned SIMs. From stored counts. */
export async function countSims(tx: TenantTx, poolId: number | null): Promise<number> {
  const { rows } = await (poolId === null
    ? sql<{ count: number }>`
          select coalesce(sum(sims), 0)::integer as count from sim_blocks
           where tenant_id = ${mine} and status <> ${SimStatus.Unprovisioned}`
    : sql<{ count: number }>`select total_sim_count as count from pools where id = ${poolId}`
  ).execute(tx.q)
  return rows[0]?.count ?? 0
}

/** Counts the pools, without deleted ones. @param enough stops counting here */
export async function countPools(tx: TenantTx, enough: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count
      from (select 1 from pools where tenant_id = ${mine} and deleted_at is null limit ${enough}) p`.execute(tx.q)
  return rows[0]?.count ?? 0
}

/** A stored figure that differs from the sum of its rows. */
export interface WrongFigure {
  /** Such as `excess_bytes of pool 7 in cycle 2026-11`, or `SIMs 4096 to 8191 of status 1`. */
  readonly what: string
  readonly kept: number
  readonly counted: number
}

/** Most wrong figures that a check names. */
export const MOST_WRONG = 20
