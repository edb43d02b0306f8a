/** Tickets as the internal interface shows them: a single one, and pages of them. */
import { sql } from 'kysely'
import { TicketStatus } from '../../../domain/codes.ts'
import { readCursor } from '../../../domain/cursor.ts'
import { pageRequest } from '../../../domain/page.ts'
import { MOST_LOOKED_AT, type TicketDetail, type TicketQuery } from '../../../domain/tickets/ticket.ts'
import { pageLimit } from '../../../store/keyset-pages.ts'
import { type Part, partLookedAt } from '../../../store/paging.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'
import { columns, type TicketRecord, toTicket } from './tickets.ts'

interface Row extends TicketRecord {
  /** Its place in lists. */
  readonly seq: number
  readonly bulkId: string | null
  readonly iccid: string
  readonly simTag: string
}

const isOpen = ({ status }: TicketRecord) => status === TicketStatus.Pending || status === TicketStatus.Processing

const toDetail = (row: Row): TicketDetail => ({
  ...toTicket(row),
  iccid: row.iccid,
  tag: row.simTag,
  attempts: row.attempts,
  nextAttemptAt: isOpen(row) ? row.nextAttemptAt.toISOString() : null,
  failureCode: row.failureCode,
  failureText: row.failureText,
  failureDetail: row.failureDetail,
  finishedAt: row.finishedAt?.toISOString() ?? null,
  cause: row.cause,
  bulkId: row.bulkId,
  withdrawnBy: row.withdrawnBy,
})

const own = sql`${columns}, seq, bulk_id as "bulkId"`
const withSim = sql`t.*, s.iccid, s.tag as "simTag"`
const sim = sql`
  cross join lateral (select iccid, tag from sims where tenant_id = ${mine} and id = t."simId" limit 1) s`

/** Reads a ticket; undefined if there is none with this id. */
export async function readTicket(tx: TenantTx, id: string): Promise<TicketDetail | undefined> {
  const { rows } = await sql<Row>`
    select ${withSim} from (select ${own} from tickets where id = ${id}) t ${sim}`.execute(tx.q)
  return rows.map(toDetail)[0]
}

/**
 * A page of the tickets, newest first, or the part after a cursor. It looks at no more than `MOST_LOOKED_AT` of them.
 *
 * @throws ServiceError `invalid_request` if the cursor is none of this list
 */
export async function pageOfTickets(tx: TenantTx, query: TicketQuery): Promise<Part<TicketDetail>> {
  const page = pageRequest(query)
  const cursor = query.cursor === undefined ? null : readCursor('tickets', query.cursor)
  const place = { before: cursor?.after.id ?? null, most: page.pageSize }
  const { rows, fitting, nextId } = await readTickets(tx, query, place)
  return partLookedAt('tickets', page, cursor, { data: rows.map(toDetail), fitting, nextId })
}

interface Place {
  /** Null: from the newest on. */
  readonly before: number | null
  readonly most: number
}

interface Found {
  readonly rows: readonly Row[]
  /** Those looked at that the filter lets through. */
  readonly fitting: number
  /** Place of the last ticket of this part; null at the end of the list. */
  readonly nextId: number | null
}

/** Looks at the newest of a SIM, of a status but Complete, or of all: an index has each in order. */
async function readTickets(
  tx: TenantTx,
  { simId, status, type }: TicketQuery,
  { before, most }: Place,
): Promise<Found> {
  const isListed = simId === undefined && status !== undefined && status !== TicketStatus.Complete
  const index =
    simId !== undefined
      ? sql`sim_id = ${simId}::bigint`
      : isListed
        ? sql`tenant_id = ${mine} and status = ${status}::smallint and status <> ${TicketStatus.Complete}::smallint`
        : sql`tenant_id = ${mine}`
  const filter = sql`(${status ?? null}::smallint is null or status = ${status ?? null}::smallint)
    and (${type ?? null}::smallint is null or type = ${type ?? null}::smallint)`
  const { rows } = await sql<Row & { readonly looked: number; readonly fitting: number; readonly last: number }>`
    with looked as materialized (
      select seq, ${filter} as fits from tickets
       where ${index} ${before === null ? sql`` : sql`and seq < ${before}::bigint`}
       order by seq desc limit ${pageLimit(MOST_LOOKED_AT)}
    ), sums as (select count(*)::integer as looked, count(*) filter (where fits)::integer as fitting, min(seq) as last from looked)
    select sums.*, found.*
      from sums
      left join lateral (
        select ${withSim} from (select seq from looked where fits order by seq desc limit ${most}) p
         cross join lateral (
           select ${own} from tickets where tenant_id = ${mine} and seq = p.seq limit 1) t ${sim}) found on true
     order by found.seq desc`.execute(tx.q)
  const [first] = rows
  const { looked, fitting, last } = first ?? { looked: 0, fitting: 0, last: 0 }
  const shown = fitting === 0 ? [] : rows
  const nextId = fitting > most ? (shown.at(-1)?.seq ?? null) : looked === MOST_LOOKED_AT ? last : null
  return { rows: shown, fitting, nextId }
}
