/** Bulk runs as the interface shows them. Counts come from the run's row, items and tickets, never from the estate. */
import { sql } from 'kysely'
import { TicketStatus } from '../../../domain/codes.ts'
import type { ErrorCode } from '../../../domain/errors.ts'
import { type Page, type PageQuery, pageRequest, toPage } from '../../../domain/page.ts'
import type { BulkItem, BulkItemQuery, BulkOutcome, BulkRun, BulkRunDetail } from '../../../domain/tickets/bulk.ts'
import { OPEN_STATUSES } from '../../../store/open-statuses.ts'
import { readPage } from '../../../store/paging.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

type RunRow = Omit<BulkRun, 'state' | 'createdAt' | 'openedAt'> & {
  readonly state: 'opening' | 'opened' | 'cancelling' | 'cancelled'
  readonly createdAt: Date
  readonly openedAt: Date | null
  readonly dropped: number
  readonly busy: boolean
  readonly seq: number
}

const columns = sql`id, type, pool_id as "poolId", tariff_id as "tariffId", tag, message, state,
  created_at as "createdAt", opened_at as "openedAt", total, waiting as "notYetOpened", refused, dropped, seq,
  exists (select 1 from tickets t where t.bulk_id = r.id and t.status in ${OPEN_STATUSES}) as busy`

function stateOf(state: RunRow['state'], busy: boolean): BulkRun['state'] {
  switch (state) {
    case 'opening':
      return 'running'
    case 'opened':
      return busy ? 'running' : 'done'
    case 'cancelling':
    case 'cancelled':
      return 'cancelled'
  }
}

const toRun = ({ dropped: _, busy, seq: __, ...row }: RunRow): BulkRun => ({
  ...row,
  state: stateOf(row.state, busy),
  createdAt: row.createdAt.toISOString(),
  openedAt: row.openedAt?.toISOString() ?? null,
})

/** Reads a page of the runs, newest first. */
export async function pageOfRuns(tx: TenantTx, query: PageQuery): Promise<Page<BulkRun>> {
  const page = pageRequest(query)
  const from = sql`from bulk_tickets r where r.tenant_id = ${mine}`
  const { rows, totalItems } = await readPage<RunRow>(tx, { columns, from, orderBy: sql`seq desc` }, page)
  return toPage(page, totalItems, rows.map(toRun))
}

export async function runExists(tx: TenantTx, id: string): Promise<boolean> {
  const { rows } = await sql`select 1 from bulk_tickets where id = ${id}`.execute(tx.q)
  return rows.length > 0
}

/** Reads a run with its counts by outcome; undefined if there is none with this id. */
export async function readRun(tx: TenantTx, id: string): Promise<BulkRunDetail | undefined> {
  const { rows } = await sql<RunRow>`
    select ${columns} from bulk_tickets r where r.id = ${id}`.execute(tx.q)
  const [row] = rows
  if (row === undefined) return undefined
  const tickets = await sql<{ status: TicketStatus; count: number }>`
    select status, count(*)::integer as count from tickets where bulk_id = ${id} group by status`.execute(tx.q)
  const refusals = await sql<{ code: ErrorCode; count: number }>`
    select code, count(*)::integer as count from bulk_ticket_items
     where bulk_id = ${id} and outcome = 'refused' group by code order by code`.execute(tx.q)
  const having = (status: TicketStatus) => tickets.rows.find((each) => each.status === status)?.count ?? 0
  return {
    ...toRun(row),
    counts: {
      waiting: row.notYetOpened,
      refused: row.refused,
      pending: having(TicketStatus.Pending),
      processing: having(TicketStatus.Processing),
      complete: having(TicketStatus.Complete),
      failed: having(TicketStatus.Failed),
      cancelled: having(TicketStatus.Cancelled) + row.dropped,
    },
    refusals: refusals.rows,
  }
}

type ItemRow = Omit<BulkItem, 'outcome'> & {
  readonly outcome: 'waiting' | 'opened' | 'refused' | 'dropped'
  readonly status: TicketStatus | null
}

function outcomeOf(outcome: ItemRow['outcome'], status: TicketStatus | null): BulkOutcome {
  if (outcome !== 'opened') return outcome === 'dropped' ? 'cancelled' : outcome
  switch (status) {
    case TicketStatus.Processing:
      return 'processing'
    case TicketStatus.Complete:
      return 'complete'
    case TicketStatus.Failed:
      return 'failed'
    case TicketStatus.Cancelled:
      return 'cancelled'
    case TicketStatus.Pending:
    case null:
      return 'pending'
  }
}

/** Conditions that select the items with an outcome. */
const CONDITIONS = {
  waiting: sql`and i.outcome = 'waiting'`,
  refused: sql`and i.outcome = 'refused'`,
  pending: sql`and t.status = ${TicketStatus.Pending}`,
  processing: sql`and t.status = ${TicketStatus.Processing}`,
  complete: sql`and t.status = ${TicketStatus.Complete}`,
  failed: sql`and t.status = ${TicketStatus.Failed}`,
  cancelled: sql`and (i.outcome = 'dropped' or t.status = ${TicketStatus.Cancelled})`,
} as const

/** Reads a page of a run's items, in the order of the request. */
export async function pageOfItems(tx: TenantTx, bulkId: string, query: BulkItemQuery): Promise<Page<BulkItem>> {
  const page = pageRequest(query)
  const { rows, totalItems } = await readPage<ItemRow>(
    tx,
    {
      columns: sql`i.index, i.sim_id as "simId", coalesce(s.iccid, i.named) as iccid, i.outcome, t.status,
                   t.id as "ticketId", coalesce(i.code, t.failure_code) as code,
                   coalesce(i.detail, t.failure_detail, t.failure_text) as detail`,
      from: sql`
        from bulk_ticket_items i
        left join tickets t on t.bulk_id = i.bulk_id and t.sim_id = i.sim_id and i.outcome = 'opened'
        left join sims s on s.id = i.sim_id
       where i.tenant_id = ${mine} and i.bulk_id = ${bulkId}
             ${query.outcome === undefined ? sql`` : CONDITIONS[query.outcome]}`,
      orderBy: sql`index`,
    },
    page,
  )
  return toPage(
    page,
    totalItems,
    rows.map(({ status, ...row }) => ({ ...row, outcome: outcomeOf(row.outcome, status) })),
  )
}
