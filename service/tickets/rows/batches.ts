/** Tickets in batches: finds due ones, and stores their outcomes. A SIM has at most one ticket in a batch. */
import { type RawBuilder, sql } from 'kysely'
import { TicketStatus } from '../../../domain/codes.ts'
import type { MonthEndKind } from '../../../domain/month-end/month-end.ts'
import type { Cause } from '../../../domain/tickets/ticket.ts'
import { ahead, kept } from '../../../store/kept.ts'
import { OPEN_STATUSES } from '../../../store/open-statuses.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'
import { columns, type TicketFailure, type TicketRecord } from './tickets.ts'

/** The SIMs to look at: the longest due ones, or a given one. */
export interface DueQuery {
  readonly limit: number
  /** Given: only this SIM. */
  readonly simId?: number
  /** Whether to wait for SIMs locked by others, if all due SIMs are locked. */
  readonly wait: boolean
}

const longestDue = (tx: TenantTx, { limit, simId }: Omit<DueQuery, 'wait'>) => sql<{ simId: number }>`
  select sim_id as "simId" from ticket_work
   where tenant_id = ${mine} and due_at <= ${tx.now} ${simId === undefined ? sql`` : sql`and sim_id = ${simId}`}
   order by due_at, sim_id limit ${limit}`

/** Ids of the SIMs with the longest due tickets, the longest first. Takes no lock. */
export async function dueSims(tx: TenantTx, query: Omit<DueQuery, 'wait'>): Promise<number[]> {
  const { rows } = await longestDue(tx, query).execute(tx.q)
  return rows.map((row) => row.simId)
}

/** Locks the SIMs with the longest due tickets. SIMs locked by others are left out. @returns their ids, in order */
export async function lockDueSims(tx: TenantTx, query: DueQuery): Promise<number[]> {
  const lock = async (skip: boolean) => {
    const { rows } = await sql<{ readonly isDue: boolean; readonly ids: number[] }>`${kept}
      with due as materialized (${longestDue(tx, query)}), locked as materialized (
        select id from sims where id = any(array(select "simId" from due)) order by id for update ${skip ? sql`skip locked` : sql``}
      )
      select exists (select from due) as "isDue", to_jsonb(array(select id from locked order by id)) as ids`.execute(
      tx.q,
    )
    return rows[0] ?? { isDue: false, ids: [] }
  }
  const { isDue, ids } = await lock(true)
  return isDue && ids.length === 0 && query.wait ? (await lock(false)).ids : ids
}

/** The oldest open ticket of each SIM, by SIM id. Call with the SIMs locked. */
export async function oldestOpenTickets(tx: TenantTx, simIds: readonly number[]): Promise<Map<number, TicketRecord>> {
  const { rows } = await sql<TicketRecord>`${kept}
    select t.* from unnest(${[...simIds]}::bigint[]) as s(id)
     cross join lateral (
       select ${columns} from tickets where sim_id = s.id and status in ${OPEN_STATUSES} order by seq limit 1) t`.execute(
    tx.q,
  )
  return new Map(rows.map((ticket) => [ticket.simId, ticket]))
}

/** The Processing ones of the tickets, in order of their SIMs. Call with the SIMs locked. */
export async function processingTickets(tx: TenantTx, ids: readonly string[]): Promise<TicketRecord[]> {
  const { rows } = await sql<TicketRecord>`${kept}
    select ${columns} from tickets
     where id = any(${[...ids]}::uuid[]) and status = ${TicketStatus.Processing} order by sim_id`.execute(tx.q)
  return rows
}

/** Starts attempts: the tickets are Processing, under a lease. After the lease another worker may take over. */
export async function startAttempts(tx: TenantTx, tickets: readonly TicketRecord[], leaseUntil: Date): Promise<void> {
  if (tickets.length === 0) return
  await sql`${kept}${ahead}
    with started as (
      update tickets set status = ${TicketStatus.Processing}, attempts = attempts + 1, lease_until = ${leaseUntil}
       where id = any(${tickets.map(({ id }) => id)}::uuid[])
    )
    update ticket_work set due_at = ${leaseUntil}
     where tenant_id = ${mine} and sim_id = any(${tickets.map(({ simId }) => simId)}::bigint[])`.execute(tx.q)
}

/** A failed attempt, and when the next is made. */
export interface Postponement {
  readonly ticket: TicketRecord
  readonly until: Date
  readonly why: TicketFailure
  /** Whether the attempt counts: not if the carrier refused our credentials. */
  readonly counts: boolean
}

/**
 * Schedules the next attempts. The tickets stay Processing, and their SIMs' later tickets wait. If a ticket has no
 * attempt that counts, it is Pending again: the carrier has not looked at it.
 */
export async function postponeTickets(tx: TenantTx, postponed: readonly Postponement[]): Promise<void> {
  if (postponed.length === 0) return
  const rows = postponed.map(({ ticket: { id }, until, why, counts }) => ({
    id,
    until,
    text: why.text,
    detail: why.detail,
    back: counts ? 0 : 1,
  }))
  await sql`
    update tickets t
       set next_attempt_at = r.until, lease_until = null, failure_text = r.text, failure_detail = r.detail,
           attempts = t.attempts - r.back,
           status = case when t.attempts = r.back then ${TicketStatus.Pending} else t.status end
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
        as r(id uuid, until timestamptz, text text, detail text, back integer)
     where t.id = r.id`.execute(tx.q)
  const sims = postponed.map(({ ticket: { simId }, until }) => ({ simId, at: until }))
  await setDue(tx, sims)
}

/** Sets when SIMs on the work list are due. Call with the SIMs locked. */
export async function setDue(
  tx: TenantTx,
  sims: readonly { readonly simId: number; readonly at: Date }[],
): Promise<void> {
  if (sims.length === 0) return
  await sql`
    update ticket_work w set due_at = r.at
      from unnest(${sims.map(({ simId }) => simId)}::bigint[], ${sims.map(({ at }) => at)}::timestamptz[]) as r(sim_id, at)
     where w.tenant_id = ${mine} and w.sim_id = r.sim_id`.execute(tx.q)
}

/** A ticket that ends, and why it failed; null if it did not. */
export interface TicketEndRow {
  readonly ticket: Pick<TicketRecord, 'id' | 'simId'>
  readonly status: TicketStatus
  readonly failure: TicketFailure | null
}

/**
 * Ends tickets. SIMs without another open ticket leave the work list; the others are due at once. Records the workflow
 * that cancelled a ticket, if one did. Call with the SIMs locked.
 *
 * @returns the causes of the SIMs' next open tickets, by SIM
 */
export async function writeTicketEnds(tx: TenantTx, ended: readonly TicketEndRow[]): Promise<Map<number, Cause>> {
  if (ended.length === 0) return new Map()
  const rows = ended.map(({ ticket: { id }, status, failure }) => ({
    id,
    status,
    ...failure,
    withdrawnBy: status === TicketStatus.Cancelled ? (tx.caller?.workflowId ?? null) : null,
  }))
  const update = sql`
    update tickets t
       set status = r.status, finished_at = ${tx.now}, lease_until = null, failure_code = r.code, failure_text = r.text,
           failure_detail = r.detail, withdrawn_by = r."withdrawnBy"
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as r(
             id uuid, status smallint, code text, text text, detail text, "withdrawnBy" text)
     where t.id = r.id`
  const [simIds, ids] = [ended.map(({ ticket }) => ticket.simId), ended.map(({ ticket }) => ticket.id)]
  return settleWork(tx, simIds, { ids, update })
}

/**
 * SIMs without an open ticket leave the work list; the others are due at once. Call with the SIMs locked.
 *
 * @param ending tickets that the same statement ends, so this reads their earlier state
 * @returns the causes of the SIMs' next open tickets, by SIM
 */
export async function settleWork(
  tx: TenantTx,
  simIds: readonly number[],
  ending?: { readonly ids: readonly string[]; readonly update: RawBuilder<unknown> },
): Promise<Map<number, Cause>> {
  if (simIds.length === 0) return new Map()
  const ended = ending?.ids ?? []
  const { rows } = await sql<{ simId: number; cause: Cause }>`${kept}
    with open as (
      select s.id, t.cause
        from (select distinct id from unnest(${[...simIds]}::bigint[]) as g(id)) s
       cross join lateral (
         select cause from tickets
          where sim_id = s.id and status in ${OPEN_STATUSES} and id <> all(${[...ended]}::uuid[]) order by seq limit 1) t
    ), gone as (
      delete from ticket_work
       where tenant_id = ${mine} and sim_id = any(${[...simIds]}::bigint[]) and sim_id not in (select id from open)
    ), due as (
      update ticket_work set due_at = ${tx.now}
       where tenant_id = ${mine} and sim_id = any(${[...simIds]}::bigint[]) and sim_id in (select id from open)
    )${ending === undefined ? sql`` : sql`, ended as (${ending.update})`}
    select id as "simId", cause from open`.execute(tx.q)
  if (rows.length === 0) return new Map()
  tx.enqueue({ queue: 'tickets' })
  return new Map(rows.map(({ simId, cause }) => [simId, cause]))
}

/**
 * Records how tickets of a month end ended.
 *
 * @returns the open tickets among those that it had opened, with the month end's cycle and the step
 */
export async function saveEnded(
  tx: TenantTx,
  ended: readonly { readonly ticketId: string; readonly code: string | null; readonly text: string | null }[],
): Promise<{ readonly ticketId: string; readonly cycleKey: string; readonly kind: MonthEndKind }[]> {
  if (ended.length === 0) return []
  const { rows } = await sql<{ ticketId: string; cycleKey: string; kind: MonthEndKind }>`
    update month_end_changes m
       set outcome = case when r.code is null then 'complete' else 'failed' end, code = r.code, detail = r.text
      from jsonb_to_recordset(${JSON.stringify(ended)}::jsonb) as r("ticketId" uuid, code text, text text)
     where m.ticket_id = r."ticketId" and m.outcome = 'open'
    returning m.ticket_id as "ticketId", m.cycle_key as "cycleKey", m.kind`.execute(tx.q)
  return rows
}
