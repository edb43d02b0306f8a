/** The outbox: starts and signals of workflows, sent to Temporal after the commit that requests them. */

import { sql } from 'kysely'
import type { SuspendedUntil } from '../domain/suspend.ts'
import type { OutboxRequest } from '../domain/temporal/outbox.ts'
import type { EnforcePoolSignal, SuspendSignal } from '../domain/temporal/signals.ts'
import type { PlatformTx, TenantTx } from './tenancy.ts'

/** Requests starts and signals for when this transaction has committed. Stores the input of each start. */
export async function requestWorkflows(tx: TenantTx, requests: readonly OutboxRequest[]): Promise<void> {
  if (requests.length === 0) return
  await sql`
    insert into workflow_outbox (workflow_id, request, due_at, created_at)
    select request ->> 'workflowId', request, ${tx.now}, ${tx.now}
      from jsonb_array_elements(${JSON.stringify(requests)}::jsonb) with ordinality as r(request, n)
     order by n`.execute(tx.q)
  await keepInputs(tx, requests)
  tx.enqueue({ queue: 'workflows' })
}

/** Stores the inputs of workflows that run once. */
async function keepInputs(tx: TenantTx, requests: readonly OutboxRequest[]): Promise<void> {
  const starts = requests.filter((request) => request.do === 'signalWithStart')
  if (starts.length === 0) return
  await sql`
    update workflow_starts s set input = r."input"
      from jsonb_to_recordset(${JSON.stringify(starts)}::jsonb) as r("workflowId" text, "input" jsonb)
     where s.tenant_id = ${tx.tenantId} and s.workflow_id = r."workflowId"`.execute(tx.q)
}

/**
 * Requests a start that the caller itself carries out once this transaction has committed. The caller then ends the
 * request with {@link endWorkflowRequest}.
 *
 * @param takeOverAt when the outbox takes over, if the request has not been ended
 * @returns the request's id
 */
export async function requestOwnStart(tx: TenantTx, request: OutboxRequest, takeOverAt: Date): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    insert into workflow_outbox (workflow_id, request, due_at, created_at)
    values (${request.workflowId}, ${JSON.stringify(request)}::jsonb, ${takeOverAt}, ${tx.now})
    returning id`.execute(tx.q)
  const [row] = rows
  if (row === undefined) throw new Error(`the start of ${request.workflowId} was not written`)
  await keepInputs(tx, [request])
  return row.id
}

/** Requests a signal to a workflow that runs once. Does nothing if the workflow was never started. */
export async function signalIfStarted(
  tx: TenantTx,
  workflowId: string,
  signal: SuspendSignal | EnforcePoolSignal,
): Promise<void> {
  if (await wasStarted(tx, workflowId)) await requestWorkflows(tx, [{ do: 'signal', workflowId, signal }])
}

export interface OutboxRow {
  readonly id: number
  readonly tenantId: string
  readonly request: OutboxRequest
  readonly attempts: number
}

/**
 * Claims due requests, oldest first, and only the oldest request of each workflow. A signal therefore never overtakes
 * the start that it needs. A claimed request is off the list for the lease, and returns unless it is ended.
 */
export async function claimWorkflowRequests(tx: PlatformTx, limit: number, leaseUntil: Date): Promise<OutboxRow[]> {
  const { rows } = await sql<OutboxRow>`
    with due as (
      select id from workflow_outbox o
       where done_at is null and due_at <= ${tx.now}
         and not exists (select 1 from workflow_outbox e
                          where e.workflow_id = o.workflow_id and e.done_at is null and e.id < o.id)
       order by id limit ${limit}
         for update skip locked
    )
    update workflow_outbox o set due_at = ${leaseUntil}, attempts = attempts + 1
      from due where o.id = due.id
    returning o.id, o.tenant_id as "tenantId", o.request, o.attempts`.execute(tx.q)
  return rows.toSorted((a, b) => a.id - b.id)
}

/** Marks a request as done. */
export async function endWorkflowRequest(tx: PlatformTx | TenantTx, id: number): Promise<void> {
  await sql`update workflow_outbox set done_at = ${tx.now} where id = ${id}`.execute(tx.q)
}

/** Makes a request due again at an instant. */
export async function postponeWorkflowRequest(tx: PlatformTx, id: number, until: Date): Promise<void> {
  await sql`update workflow_outbox set due_at = ${until} where id = ${id}`.execute(tx.q)
}

/** Records starts of workflows that run at most once ever. @returns the ids that were not recorded before */
export async function rememberStarts(tx: TenantTx, workflowIds: readonly string[]): Promise<Set<string>> {
  const { rows } = await sql<{ workflowId: string }>`
    insert into workflow_starts (workflow_id, started_at)
    select distinct id, ${tx.now}::timestamptz from unnest(${[...workflowIds]}::text[]) as w(id) order by id
    on conflict do nothing
    returning workflow_id as "workflowId"`.execute(tx.q)
  return new Set(rows.map(({ workflowId }) => workflowId))
}

/** Which of these workflows that run once have ever been started. */
export async function knownStarts(tx: TenantTx, workflowIds: readonly string[]): Promise<Set<string>> {
  const { rows } = await sql<{ workflowId: string }>`
    select workflow_id as "workflowId" from workflow_starts where workflow_id = any(${[...workflowIds]}::text[])`.execute(
    tx.q,
  )
  return new Set(rows.map(({ workflowId }) => workflowId))
}

/** Which rule suspends, for which cycle, and for how long. */
export interface SuspensionStarted {
  readonly rule: string | null
  readonly cycle: string
  readonly until: SuspendedUntil
}

/** Reads the input of a suspend-on-overage workflow. @returns undefined if it was never started */
export async function suspensionStarted(tx: TenantTx, workflowId: string): Promise<SuspensionStarted | undefined> {
  const { rows } = await sql<SuspensionStarted>`
    select input ->> 'rule' as rule, input ->> 'cycleKey' as cycle, input ->> 'until' as until
      from workflow_starts where workflow_id = ${workflowId} and input is not null`.execute(tx.q)
  return rows[0]
}

/** Records that a person has ended this workflow's work for its cycle. Enforcement then passes its SIM over. */
export async function passOverRun(tx: TenantTx, workflowId: string): Promise<void> {
  await sql`update workflow_starts set held = true where workflow_id = ${workflowId}`.execute(tx.q)
}

/** As {@link passOverRun}, also for workflows that have not started: these never start. */
export async function passOverRuns(tx: TenantTx, workflowIds: readonly string[]): Promise<void> {
  await sql`
    insert into workflow_starts as w (workflow_id, started_at, held)
    select distinct id, ${tx.now}::timestamptz, true from unnest(${[...workflowIds]}::text[]) as r(id) order by id
    on conflict (tenant_id, workflow_id) do update set held = true where not w.held`.execute(tx.q)
}

/** Undoes {@link passOverRun}: a person wants the workflow to go on, and enforcement no longer passes its SIM over. */
export async function releaseRun(tx: TenantTx, workflowId: string): Promise<void> {
  await sql`update workflow_starts set held = false where workflow_id = ${workflowId} and held`.execute(tx.q)
}

/** Ids of tenants with due requests. */
export async function tenantsWithWorkflowRequests(tx: PlatformTx, limit: number): Promise<string[]> {
  const { rows } = await sql<{ tenantId: string }>`
    select distinct tenant_id as "tenantId" from workflow_outbox
     where done_at is null and due_at <= ${tx.now} limit ${limit}`.execute(tx.q)
  return rows.map((row) => row.tenantId)
}

/** What is recorded about a workflow that runs once. */
export interface RememberedStart {
  /** Whether a person has ended its work for its cycle, perhaps before it started. */
  readonly held: boolean
  /** Whether its start is requested but not yet sent to Temporal. */
  readonly isComing: boolean
}

/** Reads the record of a workflow that runs once. @returns undefined if it was never started */
export async function rememberedStart(tx: TenantTx, workflowId: string): Promise<RememberedStart | undefined> {
  const { rows } = await sql<RememberedStart>`
    select held, exists (select 1 from workflow_outbox o
                          where o.workflow_id = s.workflow_id and o.done_at is null
                            and o.request ->> 'do' <> 'signal') as "isComing"
      from workflow_starts s where workflow_id = ${workflowId}`.execute(tx.q)
  return rows[0]
}

/** Whether a workflow that runs once has ever been started. */
const wasStarted = async (tx: TenantTx, workflowId: string) => (await rememberedStart(tx, workflowId)) !== undefined
