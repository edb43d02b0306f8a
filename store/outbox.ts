/** The outbox: starts and signals of workflows, sent to Temporal after the commit that requests them. */

import { sql } from 'kysely'
import type { OutboxRequest, TicketsEnded } from '../domain/temporal/outbox.ts'
import type { EnforcePoolSignal, SuspendSignal } from '../domain/temporal/signals.ts'
import type { SuspendedUntil } from '../domain/temporal/suspend-on-overage.ts'
import { TICKETS_ENDED } from '../domain/temporal/ticket-ends.ts'
import { insertedId } from './inserted-id.ts'
import { kept } from './kept.ts'
import { mine, type PlatformTx, type TenantTx } from './tenancy.ts'

/** A signal about tickets: the only kind joined with others, and deleted once it is sent. */
const tellsOfTickets = (alias: 'o' | 'd' | 'e' | 'b') =>
  sql.raw(`(${alias}.request ->> 'signal' is not distinct from '${TICKETS_ENDED}')`)

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

/**
 * Requests signals to workflows about tickets. Signals held back for a workflow become due with one that is due now, to
 * be sent as one.
 *
 * @param requests one for each workflow. A request with a later `dueAt` is held back until then, and left to the sweep.
 */
export async function tellOfTickets(
  tx: TenantTx,
  requests: readonly { readonly request: TicketsEnded; readonly dueAt: Date }[],
): Promise<void> {
  if (requests.length === 0) return
  const due = requests.filter(({ dueAt }) => dueAt <= tx.now).map(({ request }) => request.workflowId)
  await sql`
    with held as (
      update workflow_outbox o set due_at = ${tx.now}
       where workflow_id = any(${due}::text[]) and done_at is null and attempts = 0 and due_at > ${tx.now}
         and ${tellsOfTickets('o')}
    )
    insert into workflow_outbox (workflow_id, request, due_at, created_at)
    select request ->> 'workflowId', request, due_at, ${tx.now}
      from unnest(${requests.map(({ request }) => JSON.stringify(request))}::jsonb[],
                  ${requests.map(({ dueAt }) => dueAt)}::timestamptz[]) with ordinality as r(request, due_at, n)
     order by n`.execute(tx.q)
  if (due.length > 0) tx.enqueue({ queue: 'workflows' })
}

/** Stores the inputs of workflows that run once. */
async function keepInputs(tx: TenantTx, requests: readonly OutboxRequest[]): Promise<void> {
  const starts = requests.filter((request) => request.do === 'signalWithStart')
  if (starts.length === 0) return
  await sql`
    insert into workflow_starts (workflow_id, started_at, input)
    select distinct on (r."workflowId") r."workflowId", s.started_at, r.input
      from jsonb_to_recordset(${JSON.stringify(starts)}::jsonb) as r("workflowId" text, input jsonb)
     cross join lateral (
       select started_at from workflow_starts where tenant_id = ${mine} and workflow_id = r."workflowId" limit 1) s
     order by r."workflowId"
    on conflict (tenant_id, workflow_id) do update set input = excluded.input`.execute(tx.q)
}

/**
 * Requests a start that the caller carries out once this transaction has committed. The caller then ends the request
 * with {@link endOwnStart}.
 *
 * @param takeOverAt when the outbox takes over, if the request has not been ended
 * @returns the request's id
 */
export async function requestOwnStart(tx: TenantTx, request: OutboxRequest, takeOverAt: Date): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    insert into workflow_outbox (workflow_id, request, due_at, created_at)
    values (${request.workflowId}, ${JSON.stringify(request)}::jsonb, ${takeOverAt}, ${tx.now})
    returning id`.execute(tx.q)
  await keepInputs(tx, [request])
  return insertedId(rows)
}

/** Requests signals to workflows that run once, if started. @param known whether a workflow is known to be started */
export async function signalStarted(
  tx: TenantTx,
  signals: readonly { readonly workflowId: string; readonly signal: SuspendSignal | EnforcePoolSignal }[],
  known: ReadonlyMap<string, boolean> = new Map(),
): Promise<void> {
  const ids = signals.map(({ workflowId }) => workflowId)
  const others = await knownStarts(
    tx,
    ids.filter((id) => !known.has(id)),
  )
  const started = new Set(ids.filter((id) => known.get(id) ?? others.has(id)))
  await requestWorkflows(
    tx,
    signals.filter(({ workflowId }) => started.has(workflowId)).map((signal) => ({ do: 'signal', ...signal })),
  )
}

export interface OutboxRow {
  readonly id: number
  readonly tenantId: string
  readonly request: OutboxRequest
  readonly attempts: number
}

/**
 * Claims due requests, oldest first, and only the oldest request of each workflow. A signal therefore never overtakes
 * the start that it needs. If the oldest is about ended tickets, so may be the next ones of that workflow: they are
 * claimed with it, to be sent as one signal. Their number is at most the number of tickets of the workflow at once.
 *
 * A claimed request is off the list for the lease, and returns unless it is ended.
 */
export async function claimWorkflowRequests(tx: PlatformTx, limit: number, leaseUntil: Date): Promise<OutboxRow[]> {
  const { rows } = await sql<OutboxRow>`
    with due as (
      select id, workflow_id, request from workflow_outbox o
       where done_at is null and due_at <= ${tx.now}
         and not exists (select 1 from workflow_outbox e
                          where e.workflow_id = o.workflow_id and e.done_at is null and e.id < o.id)
       order by id limit ${limit}
         for update skip locked
    ), next as (
      select e.id from due d
        join workflow_outbox e on e.workflow_id = d.workflow_id and e.done_at is null and e.id > d.id
       where ${tellsOfTickets('d')} and ${tellsOfTickets('e')}
         and not exists (select 1 from workflow_outbox b
                          where b.workflow_id = d.workflow_id and b.done_at is null and b.id > d.id and b.id < e.id
                            and not ${tellsOfTickets('b')})
    )
    update workflow_outbox o set due_at = ${leaseUntil}, attempts = attempts + 1
      from (select id from due union all select id from next) c where o.id = c.id
    returning o.id, o.tenant_id as "tenantId", o.request, o.attempts`.execute(tx.q)
  return rows.toSorted((a, b) => a.id - b.id)
}

/**
 * Ends sent requests. Signals about tickets are deleted: the tickets' rows have the same data, and there would be a row
 * for each ticket of a workflow.
 */
export async function endWorkflowRequests(tx: PlatformTx, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return
  await sql`
    with sent as (delete from workflow_outbox o where id = any(${[...ids]}::bigint[]) and ${tellsOfTickets('o')})
    update workflow_outbox o set done_at = ${tx.now}
     where id = any(${[...ids]}::bigint[]) and not ${tellsOfTickets('o')}`.execute(tx.q)
}

/** Marks a request as done after the caller has carried it out. */
export async function endOwnStart(tx: TenantTx, id: number): Promise<void> {
  await sql`update workflow_outbox set done_at = ${tx.now} where id = ${id}`.execute(tx.q)
}

/** Makes requests due again at an instant. */
export async function postponeWorkflowRequests(tx: PlatformTx, ids: readonly number[], until: Date): Promise<void> {
  await sql`update workflow_outbox set due_at = ${until} where id = any(${[...ids]}::bigint[])`.execute(tx.q)
}

/** Records starts of workflows that run at most once ever. @returns the ids not recorded before */
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
  if (workflowIds.length === 0) return new Set()
  const { rows } = await sql<{ workflowId: string }>`
    select workflow_id as "workflowId" from workflow_starts where tenant_id = ${mine} and workflow_id = any(${[...workflowIds]}::text[])`.execute(
    tx.q,
  )
  return new Set(rows.map(({ workflowId }) => workflowId))
}

export interface SuspensionStarted {
  readonly rule: string | null
  readonly cycle: string
  readonly until: SuspendedUntil
}

/** Reads the input of a suspend-on-overage workflow. @returns undefined if it was never started */
export async function suspensionStarted(tx: TenantTx, workflowId: string): Promise<SuspensionStarted | undefined> {
  const { rows } = await sql<SuspensionStarted>`
    select input ->> 'rule' as rule, input ->> 'cycleKey' as cycle, input ->> 'until' as until
      from workflow_starts where tenant_id = ${mine} and workflow_id = ${workflowId} and input is not null`.execute(
    tx.q,
  )
  return rows[0]
}

/** Records that persons have ended these workflows: their SIMs are passed over. @returns whether each ever started */
export async function passOverStarted(tx: TenantTx, workflowIds: readonly string[]): Promise<Map<string, boolean>> {
  if (workflowIds.length === 0) return new Map()
  const { rows } = await sql<{ workflowId: string }>`${kept}
    with started as (
      select workflow_id, started_at from workflow_starts
       where tenant_id = ${mine} and workflow_id = any(${[...workflowIds]}::text[]) order by workflow_id for update
    )
    insert into workflow_starts (workflow_id, started_at, held)
    select workflow_id, started_at, true from started order by workflow_id
    on conflict (tenant_id, workflow_id) do update set held = true
    returning workflow_id as "workflowId"`.execute(tx.q)
  const started = new Set(rows.map(({ workflowId }) => workflowId))
  return new Map(workflowIds.map((id) => [id, started.has(id)]))
}

/** As {@link passOverStarted}, also for workflows not started yet: these never start. */
export async function passOverRuns(tx: TenantTx, workflowIds: readonly string[]): Promise<void> {
  await sql`
    insert into workflow_starts as w (workflow_id, started_at, held)
    select distinct id, ${tx.now}::timestamptz, true from unnest(${[...workflowIds]}::text[]) as r(id) order by id
    on conflict (tenant_id, workflow_id) do update set held = true where not w.held`.execute(tx.q)
}

/** Records that the carrier refuses for good to suspend these workflows' SIMs. Skips those never started. */
export async function noteRefused(tx: TenantTx, workflowIds: readonly string[]): Promise<void> {
  if (workflowIds.length === 0) return
  await sql`
    insert into workflow_starts (workflow_id, started_at, refused_at)
    select distinct on (r.id) r.id, w.started_at, ${tx.now}::timestamptz
      from unnest(${[...workflowIds]}::text[]) as r(id)
     cross join lateral (
       select started_at from workflow_starts where tenant_id = ${mine} and workflow_id = r.id limit 1) w
     order by r.id
    on conflict (tenant_id, workflow_id) do update set refused_at = excluded.refused_at`.execute(tx.q)
}

/** Undoes {@link noteRefused}: a person asks for another attempt. */
export async function forgetRefusal(tx: TenantTx, workflowId: string): Promise<void> {
  await sql`
    update workflow_starts set refused_at = null
     where tenant_id = ${mine} and workflow_id = ${workflowId} and refused_at is not null`.execute(tx.q)
}

/** Undoes {@link passOverStarted} and {@link noteRefused}: a person lets the workflow go on. */
export async function releaseRun(tx: TenantTx, workflowId: string): Promise<void> {
  await sql`
    update workflow_starts set held = false, refused_at = null
     where tenant_id = ${mine} and workflow_id = ${workflowId} and (held or refused_at is not null)`.execute(tx.q)
}

export async function tenantsWithWorkflowRequests(tx: PlatformTx, limit: number): Promise<string[]> {
  const { rows } = await sql<{ tenantId: string }>`
    select distinct tenant_id as "tenantId" from workflow_outbox
     where done_at is null and due_at <= ${tx.now} limit ${limit}`.execute(tx.q)
  return rows.map((row) => row.tenantId)
}

/** The record of a workflow that runs once. */
export interface RememberedStart {
  /** Whether a person has ended its work for its cycle, perhaps before it started. */
  readonly held: boolean
  /** When the carrier refused for good to suspend its SIM; null if it did not, or a person has asked again since. */
  readonly refusedAt: Date | null
  /** Whether its start is requested but not yet sent to Temporal. */
  readonly isComing: boolean
}

/** Reads the record of a workflow that runs once. @returns undefined if it was never started */
export async function rememberedStart(tx: TenantTx, workflowId: string): Promise<RememberedStart | undefined> {
  const { rows } = await sql<RememberedStart>`
    select held, refused_at as "refusedAt",
           exists (select 1 from workflow_outbox o
                          where o.workflow_id = s.workflow_id and o.done_at is null
                            and o.request ->> 'do' <> 'signal') as "isComing"
      from workflow_starts s where tenant_id = ${mine} and workflow_id = ${workflowId}`.execute(tx.q)
  return rows[0]
}
