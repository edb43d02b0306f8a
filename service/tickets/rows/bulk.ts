/** The processing of bulk runs: the run's row, its items, and the work list of runs that open or cancel tickets. */
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { TicketStatus } from '../../../domain/codes.ts'
import type { BatchSimEnd, BulkFilter, BulkType } from '../../../domain/tickets/bulk.ts'
import { pageLimit } from '../../../store/keyset-pages.ts'
import { mine, type PlatformTx, type TenantTx } from '../../../store/tenancy.ts'
import { simsAfter } from '../../sims/rows/search.ts'
import { lockSims } from '../../sims/rows/sim-state.ts'
import type { TicketConflict } from '../open-ticket.ts'
import { columns, type TicketRecord } from './tickets.ts'

/** Condition on `bulk_runs`: the runs that open tickets, and the batches, which a workflow provisions and activates. */
export const RUNS_OF = {
  tickets: sql`type <> 'provision-and-activate'`,
  batch: sql`type = 'provision-and-activate'`,
} as const
export type RunKind = keyof typeof RUNS_OF

/** The common options of all tickets of a run. */
export interface BulkOptions {
  readonly type: BulkType
  readonly poolId: number | null
  readonly tariffId: number | null
  readonly tag: string | null
  readonly message: string | null
}

/** A run with a locked row. */
export interface LockedRun extends BulkOptions {
  readonly id: string
  readonly state: 'opening' | 'opened' | 'cancelling' | 'cancelled'
  readonly waiting: number
}

export interface FoundSim {
  readonly simId: number
  readonly iccid: string
}

/** Finds the SIMs with these ids, and those with these ICCIDs. An id or ICCID that names no SIM is skipped. */
export async function findNamedSims(
  tx: TenantTx,
  ids: readonly number[],
  iccids: readonly string[],
): Promise<FoundSim[]> {
  // Two lists, each looked up by its own index. The planner would need statistics for joins, and a fresh estate lacks
  // them.
  const { rows } = await sql<FoundSim>`
    select id as "simId", iccid from sims where id = any(${[...ids]}::bigint[])
     union
    select id, iccid from sims where tenant_id = ${mine} and iccid = any(${[...iccids]}::text[])`.execute(tx.q)
  return rows
}

/** Finds the first SIMs after an id by a filter, sorted by id. */
export async function findMatchingSims(
  tx: TenantTx,
  filter: BulkFilter,
  after: number,
  most: number,
): Promise<FoundSim[]> {
  const { rows } = await sql<FoundSim>`
    select s.id as "simId", s.iccid from sims s ${simsAfter(filter, { after, most })} limit ${pageLimit(most)}`.execute(
    tx.q,
  )
  return rows
}

/** Inserts a run without items: of tickets, or a batch with its concurrency (1 to 200). @returns its id */
export async function insertRun(
  tx: TenantTx,
  run: BulkOptions | { readonly type: 'provision-and-activate'; readonly parallel: number },
): Promise<string> {
  const id = randomUUID()
  const row = { poolId: null, tariffId: null, tag: null, message: null, parallel: null, ...run }
  await sql`
    insert into bulk_runs (id, type, pool_id, tariff_id, tag, message, parallel, created_at)
    values (${id}, ${row.type}, ${row.poolId}, ${row.tariffId}, ${row.tag}, ${row.message}, ${row.parallel},
            ${tx.now})`.execute(tx.q)
  return id
}

/** A SIM of a run: it waits for its turn, or is refused with a reason. */
export interface NewItem {
  readonly index: number
  /** Null if there is no such SIM. */
  readonly simId: number | null
  readonly iccid: string | null
  /** Of a batch: what this SIM gets. */
  readonly poolId?: number | null
  readonly tariffId?: number | null
  readonly tag?: string | null
  /** Why it gets no ticket. */
  readonly refusal: TicketConflict | null
}

/** Adds items to a run that this transaction made. Takes one statement for any number. */
export async function insertItems(tx: TenantTx, bulkId: string, items: readonly NewItem[]): Promise<void> {
  await sql`
    insert into bulk_items (bulk_id, index, sim_id, named, pool_id, tariff_id, tag, outcome, step, code, detail)
    select ${bulkId}::uuid, i.index, i."simId", case when i."simId" is null then i.iccid end, i."poolId", i."tariffId",
           i.tag, case when i.refusal is null then 'waiting' else 'refused' end,
           case when i.refusal is not null then 'check' end, i.refusal->>'code', i.refusal->>'detail'
      from jsonb_to_recordset(${JSON.stringify(items)}::jsonb)
        as i(index integer, "simId" bigint, iccid text, "poolId" bigint, "tariffId" bigint, tag text, refusal jsonb)`.execute(
    tx.q,
  )
  const refused = items.filter(({ refusal }) => refusal !== null).length
  await sql`
    update bulk_runs set total = total + ${items.length}, refused = refused + ${refused} where id = ${bulkId}`.execute(
    tx.q,
  )
}

/** What has become of an item. */
export type SettledItem = Pick<BatchSimEnd, 'index'> & {
  readonly outcome: BatchSimEnd['outcome'] | 'running' | 'opened' | 'refused'
} & Partial<Omit<BatchSimEnd, 'outcome'>>

/**
 * Records what has become of items. Only those that wait or run change, so the call is idempotent. An item finds its
 * values by its index in one JSON object: a join would need statistics.
 */
export async function settleItems(tx: TenantTx, bulkId: string, items: readonly SettledItem[]): Promise<void> {
  if (items.length === 0) return
  const byIndex = JSON.stringify(Object.fromEntries(items.map((item) => [item.index, item])))
  await sql`
    update bulk_items i
       set (outcome, provision_ticket, activate_ticket, unassign_ticket, step, code, detail, ended_at) = (
         select e.outcome, e."provisionTicket", e."activateTicket", e."unassignTicket", e.step, e.code, e.detail,
                case when e.outcome not in ('running', 'opened', 'refused') then ${tx.now}::timestamptz end
           from jsonb_to_record(${byIndex}::jsonb -> i.index::text)
             as e(outcome text, "provisionTicket" uuid, "activateTicket" uuid, "unassignTicket" uuid, step text,
                  code text, detail text))
     where tenant_id = ${mine} and bulk_id = ${bulkId} and outcome in ('waiting', 'running')
       and index = any(${items.map(({ index }) => index)}::integer[])`.execute(tx.q)
}

/** Cancels the items that wait or run. */
async function cancelItems(tx: TenantTx, bulkId: string): Promise<void> {
  await sql`
    update bulk_items set outcome = 'cancelled', ended_at = ${tx.now}
     where tenant_id = ${mine} and bulk_id = ${bulkId} and outcome in ('waiting', 'running')`.execute(tx.q)
}

/** Ends a batch: SIMs without an outcome are recorded as cancelled. Safe to run twice. */
export async function endBatch(tx: TenantTx, bulkId: string): Promise<void> {
  await cancelItems(tx, bulkId)
  await sql`update bulk_runs set done_at = coalesce(done_at, ${tx.now}) where id = ${bulkId}`.execute(tx.q)
}

/** Puts a run on the work list and enqueues a job. A run without a waiting item counts as opened at once. */
export async function releaseBulkRun(tx: TenantTx, bulkId: string): Promise<void> {
  const { rows } = await sql<{ waiting: number }>`
    update bulk_runs
       set waiting = total - refused, state = case when total > refused then 'opening' else state end,
           done_at = case when total = refused then ${tx.now}::timestamptz end
     where id = ${bulkId} returning waiting`.execute(tx.q)
  if (rows[0]?.waiting !== 0) await addWork(tx, bulkId)
}

async function addWork(tx: TenantTx, bulkId: string): Promise<void> {
  await sql`
    insert into bulk_work (bulk_id, due_at) values (${bulkId}, ${tx.now})
    on conflict (tenant_id, bulk_id) do update set due_at = excluded.due_at`.execute(tx.q)
  tx.enqueue({ queue: 'bulk' })
}

const lockedRow = sql`id, type, pool_id as "poolId", tariff_id as "tariffId", tag, message, state, waiting`

/** Locks the oldest run with work; undefined if none has any. */
export async function lockNextRun(tx: TenantTx): Promise<LockedRun | undefined> {
  const { rows } = await sql<LockedRun>`
    select ${lockedRow} from bulk_runs
     where tenant_id = ${mine} and state in ('opening', 'cancelling') order by seq limit 1 for update`.execute(tx.q)
  return rows[0]
}

/** Locks a run of tickets; undefined if there is none with this id. */
export async function lockRun(tx: TenantTx, id: string): Promise<LockedRun | undefined> {
  const { rows } = await sql<LockedRun>`
    select ${lockedRow} from bulk_runs where id = ${id} and ${RUNS_OF.tickets} for update`.execute(tx.q)
  return rows[0]
}

/** Items that wait for their tickets, by SIM id. Call with the run locked. */
export async function waitingItems(tx: TenantTx, bulkId: string, limit: number) {
  const { rows } = await sql<{ readonly index: number; readonly simId: number }>`
    select index, sim_id as "simId" from bulk_items
     where bulk_id = ${bulkId} and outcome = 'waiting' order by sim_id limit ${limit}`.execute(tx.q)
  return rows
}

/**
 * Records that a batch of SIMs got tickets or were refused. After the last batch, the run is opened and leaves the work
 * list. Call with the run locked.
 *
 * @param dueAt when a sweep picks up the run, in case its worker dies before the next batch
 */
export async function settleBatch(
  tx: TenantTx,
  bulkId: string,
  settled: readonly SettledItem[],
  dueAt: Date,
): Promise<void> {
  await settleItems(tx, bulkId, settled)
  const refused = settled.filter(({ outcome }) => outcome === 'refused').length
  const { rows } = await sql<{ waiting: number }>`
    update bulk_runs set waiting = waiting - ${settled.length}, refused = refused + ${refused}
     where id = ${bulkId} returning waiting`.execute(tx.q)
  if ((rows[0]?.waiting ?? 0) > 0) {
    await sql`update bulk_work set due_at = ${dueAt} where tenant_id = ${mine} and bulk_id = ${bulkId}`.execute(tx.q)
  } else {
    await sql`update bulk_runs set state = 'opened', done_at = ${tx.now} where id = ${bulkId}`.execute(tx.q)
    await sql`delete from bulk_work where tenant_id = ${mine} and bulk_id = ${bulkId}`.execute(tx.q)
  }
}

/** Whether a ticket of a run is still Pending. */
export async function hasPendingTickets(tx: TenantTx, bulkId: string): Promise<boolean> {
  const { rows } = await sql`
    select 1 from tickets where bulk_id = ${bulkId} and status = ${TicketStatus.Pending} limit 1`.execute(tx.q)
  return rows.length > 0
}

/**
 * Begins to cancel a run: drops the items without a ticket, and puts the run on the work list for the rest. Call with
 * the run locked.
 */
export async function dropWaiting(tx: TenantTx, bulkId: string): Promise<void> {
  await cancelItems(tx, bulkId)
  await sql`update bulk_runs set state = 'cancelling', waiting = 0 where id = ${bulkId}`.execute(tx.q)
  await addWork(tx, bulkId)
}

/**
 * Locks and reads a run's next Pending tickets, to be cancelled now. After the last ones the run is cancelled, and leaves
 * the work list. Call with the run locked.
 *
 * @param limit most tickets to cancel
 * @param dueAt when the run is next due, if Pending tickets may be left
 */
export async function takePending(tx: TenantTx, bulkId: string, limit: number, dueAt: Date): Promise<TicketRecord[]> {
  const { rows } = await sql<{ simId: number }>`
    select sim_id as "simId" from tickets
     where bulk_id = ${bulkId} and status = ${TicketStatus.Pending} order by sim_id limit ${limit}`.execute(tx.q)
  const simIds = rows.map(({ simId }) => simId)
  await lockSims(tx, simIds)
  const pending = await sql<TicketRecord>`
    select ${columns} from tickets
     where bulk_id = ${bulkId} and sim_id = any(${simIds}::bigint[]) and status = ${TicketStatus.Pending}
     order by sim_id`.execute(tx.q)
  if (simIds.length === limit) {
    await sql`update bulk_work set due_at = ${dueAt} where tenant_id = ${mine} and bulk_id = ${bulkId}`.execute(tx.q)
  } else {
    await sql`update bulk_runs set state = 'cancelled' where id = ${bulkId}`.execute(tx.q)
    await sql`delete from bulk_work where tenant_id = ${mine} and bulk_id = ${bulkId}`.execute(tx.q)
  }
  return pending.rows
}

/** Ids of tenants with due runs, the longest overdue first. */
export async function tenantsWithBulkWork(tx: PlatformTx, limit: number): Promise<string[]> {
  const { rows } = await sql<{ tenantId: string }>`
    select tenant_id as "tenantId" from bulk_work where due_at <= ${tx.now}
     group by tenant_id order by min(due_at) limit ${limit}`.execute(tx.q)
  return rows.map(({ tenantId }) => tenantId)
}
