/** Tickets: the rows, their order within a SIM, and the work list of SIMs with open tickets. */
import { sql } from 'kysely'
import { type TicketStatus, TicketType } from '../../../domain/codes.ts'
import type { TicketRequest } from '../../../domain/tickets/decisions.ts'
import type { Ticket } from '../../../domain/tickets/ticket.ts'
import { anyOf, kept } from '../../../store/kept.ts'
import { KEYSET_PAGE, keysetPages, pageLimit, placeAfter } from '../../../store/keyset-pages.ts'
import { OPEN_STATUSES } from '../../../store/open-statuses.ts'
import { mine, type PlatformTx, type Store, type TenantTx } from '../../../store/tenancy.ts'

/** A ticket as operations use it. */
export interface TicketRecord extends TicketRequest {
  readonly id: string
  readonly simId: number
  readonly status: TicketStatus
  readonly createdAt: Date
  readonly tag: string | null
  readonly message: string | null
  readonly effectiveAt: Date | null
  readonly attempts: number
  readonly nextAttemptAt: Date
  readonly leaseUntil: Date | null
  readonly failureCode: string | null
  readonly failureText: string | null
  readonly failureDetail: string | null
  readonly finishedAt: Date | null
  /** Whether it counts in the quotas while it is open, because a person asked for it. */
  readonly counts: boolean
  /** Id of the workflow that cancelled it; null if none did. */
  readonly withdrawnBy: string | null
}

/** Why a ticket or its last attempt failed. */
export interface TicketFailure {
  /** Stable code of the failure. */
  readonly code: string
  /** The failure in plain words, for tenants too. */
  readonly text: string
  /** The full failure, for the operator only. Omitted: the text is complete. */
  readonly detail?: string
}

export const columns = sql`id, sim_id as "simId", type, status, created_at as "createdAt", pool_id as "poolId",
  tariff_id as "tariffId", unassign, tag, message, cause, effective_at as "effectiveAt", attempts,
  next_attempt_at as "nextAttemptAt", lease_until as "leaseUntil", failure_code as "failureCode",
  failure_text as "failureText", failure_detail as "failureDetail", finished_at as "finishedAt", counts,
  withdrawn_by as "withdrawnBy"`

/** A ticket as the interface shows it. Source: service document, section 2.5. */
export const toTicket = (record: TicketRecord): Ticket => ({
  id: record.id,
  simId: record.simId,
  type: record.type,
  status: record.status,
  created: record.createdAt.toISOString(),
  provisioningInfo:
    record.type === TicketType.Provision
      ? {
          pendingPoolId: record.poolId,
          pendingTariffId: record.tariffId,
          pendingUnassign: record.unassign,
          pendingTag: record.tag,
        }
      : null,
})

export interface NewTicket extends TicketRequest {
  readonly tag: string | null
  readonly message: string | null
  readonly effectiveAt: Date | null
  readonly bulkId: string | null
}

/**
 * Inserts a Pending ticket for each of these SIMs, puts the SIMs on the work list, and enqueues a job. Call with the
 * SIMs locked. A ticket with an existing id is left unchanged.
 *
 * @param each `poolId` and `tariffId` replace those of `ticket` for one SIM
 */
export async function insertTickets(
  tx: TenantTx,
  each: readonly {
    readonly id: string
    readonly simId: number
    readonly poolId?: number | null
    readonly tariffId?: number | null
  }[],
  ticket: NewTicket,
): Promise<void> {
  if (each.length === 0) return
  const { rows } = await sql`${kept}
    with written as (
      insert into tickets (id, sim_id, type, created_at, pool_id, tariff_id, unassign, tag, message, cause, effective_at,
                           next_attempt_at, bulk_id, counts)
      select id, sim_id, ${ticket.type}::smallint, ${tx.now}::timestamptz, pool_id, tariff_id,
             ${ticket.unassign}::boolean, ${ticket.tag}, ${ticket.message}, ${JSON.stringify(ticket.cause)}::jsonb,
             ${ticket.effectiveAt}::timestamptz, ${tx.now}, ${ticket.bulkId}::uuid,
             ${ticket.cause.by === 'user' && ticket.bulkId === null}::boolean
        from unnest(${each.map(({ id }) => id)}::uuid[], ${each.map(({ simId }) => simId)}::bigint[],
                    ${each.map(({ poolId = ticket.poolId }) => poolId)}::integer[],
                    ${each.map(({ tariffId = ticket.tariffId }) => tariffId)}::integer[])
               with ordinality as t(id, sim_id, pool_id, tariff_id, n)
       order by n
      on conflict (id) do nothing
      returning sim_id
    )
    insert into ticket_work as w (sim_id, due_at)
    select sim_id, ${tx.now}::timestamptz from written order by sim_id
    on conflict (tenant_id, sim_id) do update set due_at = least(w.due_at, excluded.due_at)
    returning 1`.execute(tx.q)
  if (rows.length > 0) tx.enqueue({ queue: 'tickets' })
}

/** Which of these ids belong to tickets. */
export async function ticketsThatExist(tx: TenantTx, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set()
  const { rows } = await sql<{ id: string }>`select id from tickets where id = any (${ids}::uuid[])`.execute(tx.q)
  return new Set(rows.map(({ id }) => id))
}

export async function findTicket(tx: TenantTx, id: string): Promise<TicketRecord | undefined> {
  const { rows } = await sql<TicketRecord>`${kept} select ${columns} from tickets where id = ${id}`.execute(tx.q)
  return rows[0]
}

/** Open tickets of a SIM (Pending and Processing), oldest first. Call with the SIM locked. */
export const openTickets = async (tx: TenantTx, simId: number): Promise<TicketRecord[]> =>
  (await openTicketsOf(tx, [simId])).get(simId) ?? []

/** The open tickets of each given SIM, oldest first, by SIM id. SIMs without any are left out. */
export async function openTicketsOf(tx: TenantTx, simIds: readonly number[]): Promise<Map<number, TicketRecord[]>> {
  const { rows } = await sql<TicketRecord>`${kept}
    select ${columns} from tickets
     where sim_id = ${anyOf(simIds)} and status in ${OPEN_STATUSES} order by sim_id, seq`.execute(tx.q)
  return Map.groupBy(rows, ({ simId }) => simId)
}

/** How many of the tenant's open tickets count in its quota. @param atMost stops counting here */
export async function countedTickets(tx: TenantTx, atMost: number): Promise<number> {
  const { rows } = await sql<{ open: number }>`
    select count(*)::integer as open
      from (select 1 from tickets
             where tenant_id = ${mine} and counts and status in ${OPEN_STATUSES} limit ${atMost}) as counted`.execute(
    tx.q,
  )
  return rows[0]?.open ?? 0
}

/** A ticket with its place in the list. */
type NumberedTicket = TicketRecord & { readonly seq: number }

/** Reads all tickets, newest first, page by page. */
export const listTickets = (store: Store, tenantId: string): AsyncGenerator<Ticket[]> =>
  keysetPages(store, tenantId, async (tx, before: number | null) => {
    const { rows } = await sql<NumberedTicket>`
      select ${columns}, seq from tickets
       where tenant_id = ${mine} and (${before}::bigint is null or seq < ${before})
       order by seq desc limit ${pageLimit(KEYSET_PAGE)}`.execute(tx.q)
    return { items: rows.map(toTicket), next: placeAfter(rows, ({ seq }) => seq) }
  })

/** Ids of tenants with due tickets, the longest overdue first. */
export async function tenantsWithTickets(tx: PlatformTx, limit: number): Promise<string[]> {
  const { rows } = await sql<{ tenantId: string }>`
    select tenant_id as "tenantId" from ticket_work where due_at <= ${tx.now}
     group by tenant_id order by min(due_at) limit ${limit}`.execute(tx.q)
  return rows.map(({ tenantId }) => tenantId)
}
