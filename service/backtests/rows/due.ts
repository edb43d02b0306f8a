/** When a tenant's watchdog and mails have something to do next. */
import { sql } from 'kysely'
import type { OutboxRequest } from '../../../domain/temporal/outbox.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

/** The earliest due instant of a subject, a shard, a mail or the like; null if there is none. */
export async function nextDueAt(tx: TenantTx): Promise<Date | null> {
  const { rows } = await sql<{ at: Date | null }>`
    select min(at) as at from (
      select min(greatest(due_at, not_before)) as at from due_subjects where tenant_id = ${mine}
      union all select min(next_at) from watch_shards where tenant_id = ${mine}
      union all select min(greatest(due_at, claimed_until, ${tx.now}::timestamptz)) from changed_subjects where tenant_id = ${mine}
      union all select min(due_at) from would_suspend where tenant_id = ${mine}
      union all select min(due_at) from mail_work where tenant_id = ${mine}) u`.execute(tx.q)
  return rows[0]?.at ?? null
}

/** Requests to Temporal after one of them, in their order. */
export async function requestsAfter(tx: TenantTx, id: number): Promise<{ id: number; request: OutboxRequest }[]> {
  const { rows } = await sql<{ id: number; request: OutboxRequest }>`
    select id, request from workflow_outbox where tenant_id = ${mine} and id > ${id} order by id`.execute(tx.q)
  return rows
}

/** SIMs that the watchdog keeps suspended until a renewal that is now due: their workflows. */
export async function renewedSims(tx: TenantTx, cycleKey: string): Promise<{ workflowId: string }[]> {
  const { rows } = await sql<{ workflowId: string }>`
    select workflow_id as "workflowId" from suspensions
     where tenant_id = ${mine} and closed_at is null and cause = 'watchdog' and until = 'renewal'
       and cycle_key < ${cycleKey} order by sim_id`.execute(tx.q)
  return rows
}
