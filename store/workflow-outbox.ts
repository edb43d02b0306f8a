/** Starts and signals of workflows that happen after the commit that asks for them. */
import { sql } from 'kysely'
import type { EnforcePoolSignal, SuspendSignal, WorkflowRequest } from '../domain/lifecycle.ts'
import type { PlatformTx, TenantTx } from './tenancy.ts'

/**
 * Asks for a start or signal once this transaction has committed.
 *
 * @param dedupeKey an equal key is asked for once for all; null asks each time
 */
export async function requestWorkflow(tx: TenantTx, request: WorkflowRequest, dedupeKey: string | null): Promise<void> {
  await sql`
    insert into workflow_outbox (dedupe_key, request, due_at, created_at)
    values (${dedupeKey}, ${JSON.stringify(request)}::jsonb, ${tx.now}, ${tx.now})
    on conflict (tenant_id, dedupe_key) do nothing`.execute(tx.q)
  tx.ring({ queue: 'workflows' })
}

/** Signals a workflow that was started at some time; where it was not, nothing is asked for. */
export async function signalIfStarted(
  tx: TenantTx,
  workflowId: string,
  signal: SuspendSignal | EnforcePoolSignal,
): Promise<void> {
  const { rows } = await sql`select 1 from workflow_starts where workflow_id = ${workflowId}`.execute(tx.q)
  if (rows.length > 0) await requestWorkflow(tx, { do: 'signal', workflowId, signal }, null)
}

export interface OutboxRow {
  readonly id: number
  readonly tenantId: string
  readonly request: WorkflowRequest
  readonly attempts: number
}

/** Takes requests that are due, oldest first; each is off the list for the lease and comes back where nobody ends it. */
export async function claimWorkflowRequests(tx: PlatformTx, limit: number, leaseUntil: Date): Promise<OutboxRow[]> {
  const { rows } = await sql<OutboxRow>`
    with due as (
      select id from workflow_outbox
       where done_at is null and due_at <= ${tx.now}
       order by due_at, id limit ${limit}
         for update skip locked
    )
    update workflow_outbox o set due_at = ${leaseUntil}, attempts = attempts + 1
      from due where o.id = due.id
    returning o.id, o.tenant_id as "tenantId", o.request, o.attempts`.execute(tx.q)
  return rows.toSorted((a, b) => a.id - b.id)
}

export async function endWorkflowRequest(tx: PlatformTx, id: number): Promise<void> {
  await sql`update workflow_outbox set done_at = ${tx.now} where id = ${id}`.execute(tx.q)
}

export async function postponeWorkflowRequest(tx: PlatformTx, id: number, until: Date): Promise<void> {
  await sql`update workflow_outbox set due_at = ${until} where id = ${id}`.execute(tx.q)
}

/** Remembers a workflow that runs once for all. @returns whether it was not known before */
export async function rememberStart(tx: TenantTx, workflowId: string): Promise<boolean> {
  const { rows } = await sql`
    insert into workflow_starts (workflow_id, started_at) values (${workflowId}, ${tx.now})
    on conflict do nothing returning 1`.execute(tx.q)
  return rows.length > 0
}
