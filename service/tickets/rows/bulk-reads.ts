/** Bulk runs and batches as the interface shows them. Counts come from run, items and tickets, never from the estate. */
import { type RawBuilder, sql } from 'kysely'
import { TicketStatus } from '../../../domain/codes.ts'
import type { ErrorCode } from '../../../domain/errors.ts'
import { type Page, type PageQuery, pageRequest, toPage } from '../../../domain/page.ts'
import { provisionInBulkId } from '../../../domain/temporal/ids.ts'
import type {
  Batch,
  BatchSim,
  BatchSimQuery,
  BatchSims,
  BulkItem,
  BulkItemQuery,
  BulkOutcome,
  BulkPart,
  BulkRun,
  BulkRunDetail,
} from '../../../domain/tickets/bulk.ts'
import { OPEN_STATUSES } from '../../../store/open-statuses.ts'
import { readPage } from '../../../store/paging.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'
import { RUNS_OF, type RunKind } from './bulk.ts'

type RunRow = Omit<BulkRun, 'state' | 'createdAt' | 'openedAt'> & {
  readonly state: 'opening' | 'opened' | 'cancelling' | 'cancelled'
  readonly createdAt: Date
  readonly openedAt: Date | null
  readonly busy: boolean
  readonly seq: number
}

const columns = sql`id, type, pool_id as "poolId", tariff_id as "tariffId", tag, message, state,
  created_at as "createdAt", done_at as "openedAt", total, waiting as "notYetOpened", refused, seq,
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

const toRun = ({ busy, seq: _, ...row }: RunRow): BulkRun => ({
  ...row,
  state: stateOf(row.state, busy),
  createdAt: row.createdAt.toISOString(),
  openedAt: row.openedAt?.toISOString() ?? null,
})

/** Reads a page of the runs, newest first. */
export async function pageOfRuns(tx: TenantTx, query: PageQuery): Promise<Page<BulkRun>> {
  const page = pageRequest(query)
  const from = sql`from bulk_runs r where r.tenant_id = ${mine} and ${RUNS_OF.tickets}`
  const { rows, totalItems } = await readPage<RunRow>(tx, { columns, from, orderBy: sql`seq desc` }, page)
  return toPage(page, totalItems, rows.map(toRun))
}

/** Outcomes of items with a ticket. */
const OUTCOMES = {
  [TicketStatus.Pending]: 'pending',
  [TicketStatus.Processing]: 'processing',
  [TicketStatus.Complete]: 'complete',
  [TicketStatus.Failed]: 'failed',
  [TicketStatus.Cancelled]: 'cancelled',
} as const satisfies Record<TicketStatus, BulkOutcome>

/** Whether there is a run of this kind with this id. */
export async function runExists(tx: TenantTx, kind: RunKind, id: string): Promise<boolean> {
  const { rows } = await sql`select 1 from bulk_runs where id = ${id} and ${RUNS_OF[kind]}`.execute(tx.q)
  return rows.length > 0
}

/** Reads a run's items by outcome, and the refused ones by code, from an index of at most 100,000 entries. */
async function readProgress(tx: TenantTx, bulkId: string) {
  const counts = {
    refused: 0,
    waiting: 0,
    opened: 0,
    running: 0,
    activated: 0,
    alreadyActive: 0,
    compensated: 0,
    cancelled: 0,
    failed: 0,
  }
  const counted = await sql<{ outcome: keyof typeof counts; count: number }>`
    select outcome, count(*)::integer as count from bulk_items where bulk_id = ${bulkId} group by outcome`.execute(tx.q)
  for (const { outcome, count } of counted.rows) counts[outcome] = count
  const refusals = await sql<{ code: ErrorCode; count: number }>`
    select code, count(*)::integer as count from bulk_items
     where bulk_id = ${bulkId} and outcome = 'refused' group by code order by code`.execute(tx.q)
  return { counts, refusals: refusals.rows }
}

/** Reads a run with its counts by outcome; undefined if there is none with this id. */
export async function readBulkRun(tx: TenantTx, id: string): Promise<BulkRunDetail | undefined> {
  const { rows } = await sql<RunRow>`
    select ${columns} from bulk_runs r where r.id = ${id} and ${RUNS_OF.tickets}`.execute(tx.q)
  const [row] = rows
  if (row === undefined) return undefined
  const tickets = await sql<{ status: TicketStatus; count: number }>`
    select status, count(*)::integer as count from tickets where bulk_id = ${id} group by status`.execute(tx.q)
  const { counts, refusals } = await readProgress(tx, id)
  const { waiting, refused, cancelled } = counts
  const opened = { pending: 0, processing: 0, complete: 0, failed: 0, cancelled: 0 }
  for (const { status, count } of tickets.rows) opened[OUTCOMES[status]] = count
  return {
    ...toRun(row),
    counts: { waiting, refused, ...opened, cancelled: opened.cancelled + cancelled },
    refusals,
  }
}

/** Reads a batch with its counts; undefined if the id is unknown. */
export async function readProvisionBatch(tx: TenantTx, id: string): Promise<Batch | undefined> {
  const { rows } = await sql<{ parallel: number; createdAt: Date; endedAt: Date | null; total: number }>`
    select parallel, created_at as "createdAt", done_at as "endedAt", total from bulk_runs
     where id = ${id} and ${RUNS_OF.batch}`.execute(tx.q)
  const [row] = rows
  if (row === undefined) return undefined
  const { counts, refusals } = await readProgress(tx, id)
  const { opened: _, ...outcomes } = counts
  return {
    id,
    workflowId: provisionInBulkId(tx.tenantId, id),
    ...row,
    createdAt: row.createdAt.toISOString(),
    endedAt: row.endedAt?.toISOString() ?? null,
    counts: outcomes,
    refusals,
  }
}

const target = sql`i.index, i.sim_id as "simId", coalesce(s.iccid, i.named) as iccid`

type ItemRow = Omit<BulkItem, 'outcome'> & {
  readonly outcome: 'waiting' | 'opened' | 'refused' | 'cancelled'
  readonly status: TicketStatus | null
}

/** Conditions that select the items with an outcome. */
const CONDITIONS = {
  waiting: sql`and i.outcome = 'waiting'`,
  refused: sql`and i.outcome = 'refused'`,
  pending: sql`and t.status = ${TicketStatus.Pending}`,
  processing: sql`and t.status = ${TicketStatus.Processing}`,
  complete: sql`and t.status = ${TicketStatus.Complete}`,
  failed: sql`and t.status = ${TicketStatus.Failed}`,
  cancelled: sql`and (i.outcome = 'cancelled' or t.status = ${TicketStatus.Cancelled})`,
} as const

/** Reads a page of a run's items, in the order of the request. */
export async function pageOfItems(tx: TenantTx, bulkId: string, query: BulkItemQuery): Promise<Page<BulkItem>> {
  const page = pageRequest(query)
  const { rows, totalItems } = await readPage<ItemRow>(
    tx,
    {
      columns: sql`${target}, i.outcome, t.status,
                   t.id as "ticketId", coalesce(i.code, t.failure_code) as code,
                   coalesce(i.detail, t.failure_detail, t.failure_text) as detail`,
      from: sql`
        from bulk_items i
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
    rows.map(({ status, outcome, ...row }) => ({
      ...row,
      outcome: outcome === 'opened' ? OUTCOMES[status ?? TicketStatus.Pending] : outcome,
    })),
  )
}

/** Ids of the SIMs whose tickets of a run ended so, in order. */
export async function simsOfRun(tx: TenantTx, { id, outcome }: BulkPart): Promise<number[]> {
  const status = outcome === 'complete' ? TicketStatus.Complete : TicketStatus.Failed
  const { rows } = await sql<{ simId: number }>`
    select sim_id as "simId" from tickets where bulk_id = ${id} and status = ${status} order by sim_id`.execute(tx.q)
  return rows.map(({ simId }) => simId)
}

/** Reads SIMs of a batch after an index, in the order of the request. */
async function readSims(
  tx: TenantTx,
  bulkId: string,
  { which, afterIndex, limit }: { readonly which: RawBuilder<unknown>; afterIndex: number; limit: number },
): Promise<BatchSim[]> {
  const { rows } = await sql<Omit<BatchSim, 'endedAt'> & { readonly endedAt: Date | null }>`
    select ${target}, i.pool_id as "poolId", i.tariff_id as "tariffId", i.tag, i.outcome,
           i.provision_ticket as "provisionTicket", i.activate_ticket as "activateTicket",
           i.unassign_ticket as "unassignTicket", i.step, i.code, i.detail, i.ended_at as "endedAt"
      from bulk_items i
      left join sims s on s.id = i.sim_id
     where i.tenant_id = ${mine} and i.bulk_id = ${bulkId} and i.index > ${afterIndex} ${which}
     order by i.index limit ${limit}`.execute(tx.q)
  return rows.map((row) => ({ ...row, endedAt: row.endedAt?.toISOString() ?? null }))
}

/** Reads a page of a batch's SIMs, by keyset: every page costs the same. */
export async function pageOfBatch(tx: TenantTx, bulkId: string, query: BatchSimQuery): Promise<BatchSims> {
  const { outcome, open = false, afterIndex = -1, limit = 100 } = query
  const which = sql`
    ${outcome === undefined ? sql`` : sql`and i.outcome = ${outcome}`}
    ${open ? sql`and i.outcome in ('waiting', 'running')` : sql``}`
  const sims = await readSims(tx, bulkId, { which, afterIndex, limit })
  return { sims, nextAfterIndex: sims.length < limit ? null : (sims.at(-1)?.index ?? null) }
}

/** The first SIMs of a batch that did not become Active. */
export const failuresOf = (tx: TenantTx, bulkId: string, limit: number): Promise<BatchSim[]> =>
  readSims(tx, bulkId, { which: sql`and i.outcome in ('compensated', 'failed')`, afterIndex: -1, limit })
