/** Batches of SIMs to provision and activate: the requested list, and the outcome for each SIM. */
import { randomUUID } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import { provisionInBulkId } from '../../../domain/temporal/ids.ts'
import {
  type Batch,
  type BatchOutcome,
  type BatchSim,
  type BatchSimEnd,
  type BatchSimQuery,
  type BatchSims,
} from '../../../domain/workflows/provision-batch.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'
import type { Refusal } from './bulk.ts'

/** Inserts a batch without SIMs. @returns its id */
export async function insertBatch(tx: TenantTx, parallel: number): Promise<string> {
  const id = randomUUID()
  await sql`
    insert into provision_batches (id, parallel, created_at) values (${id}, ${parallel}, ${tx.now})`.execute(tx.q)
  return id
}

/** A SIM of a batch: it waits for its turn, or is refused with a reason. */
export interface NewBatchSim {
  readonly index: number
  /** Null if there is no such SIM. */
  readonly simId: number | null
  readonly iccid: string | null
  readonly poolId: number | null
  readonly tariffId: number | null
  readonly tag: string | null
  readonly refusal: Refusal | null
}

/** Adds SIMs to a batch made by this transaction. Takes one statement for any number. */
export async function insertBatchSims(tx: TenantTx, batchId: string, sims: readonly NewBatchSim[]): Promise<void> {
  await sql`
    insert into provision_batch_sims (batch_id, index, sim_id, named, pool_id, tariff_id, tag, outcome, step, code, detail)
    select ${batchId}::uuid, i.index, i."simId", case when i."simId" is null then i.iccid end, i."poolId", i."tariffId",
           i.tag, case when i.refusal is null then 'waiting' else 'refused' end,
           case when i.refusal is not null then 'check' end, i.refusal->>'code', i.refusal->>'detail'
      from jsonb_to_recordset(${JSON.stringify(sims)}::jsonb)
        as i(index integer, "simId" bigint, iccid text, "poolId" bigint, "tariffId" bigint, tag text, refusal jsonb)`.execute(
    tx.q,
  )
  await sql`update provision_batches set total = total + ${sims.length} where id = ${batchId}`.execute(tx.q)
}

type BatchRow = Pick<Batch, 'parallel' | 'total'> & { readonly createdAt: Date; readonly endedAt: Date | null }

/**
 * Reads a batch with its counts; undefined if the id is unknown. The counts come from the list, by an index of at most
 * 100,000 entries.
 */
export async function readBatch(tx: TenantTx, id: string): Promise<Batch | undefined> {
  const { rows } = await sql<BatchRow>`
    select parallel, created_at as "createdAt", ended_at as "endedAt", total from provision_batches
     where id = ${id}`.execute(tx.q)
  const [row] = rows
  if (row === undefined) return undefined
  const counted = await sql<{ outcome: BatchOutcome; count: number }>`
    select outcome, count(*)::integer as count from provision_batch_sims where batch_id = ${id}
     group by outcome`.execute(tx.q)
  const having = (outcome: BatchOutcome) => counted.rows.find((each) => each.outcome === outcome)?.count ?? 0
  return {
    id,
    workflowId: provisionInBulkId(tx.tenantId, id),
    ...row,
    createdAt: row.createdAt.toISOString(),
    endedAt: row.endedAt?.toISOString() ?? null,
    counts: {
      refused: having('refused'),
      waiting: having('waiting'),
      running: having('running'),
      activated: having('activated'),
      alreadyActive: having('alreadyActive'),
      compensated: having('compensated'),
      cancelled: having('cancelled'),
      failed: having('failed'),
    },
    refusals: having('refused') === 0 ? [] : await refusalsOf(tx, id),
  }
}

async function refusalsOf(tx: TenantTx, id: string): Promise<Batch['refusals']> {
  const { rows } = await sql<{ code: string; count: number }>`
    select code, count(*)::integer as count from provision_batch_sims
     where batch_id = ${id} and outcome = 'refused' group by code order by code`.execute(tx.q)
  return rows
}

export async function batchExists(tx: TenantTx, id: string): Promise<boolean> {
  const { rows } = await sql`
    select 1 from provision_batches where id = ${id}`.execute(tx.q)
  return rows.length > 0
}

type SimRow = Omit<BatchSim, 'endedAt'> & { readonly endedAt: Date | null }

const toBatchSim = (row: SimRow): BatchSim => ({ ...row, endedAt: row.endedAt?.toISOString() ?? null })

/** Reads SIMs of a batch after an index, in the order of the request. */
async function readSims(
  tx: TenantTx,
  batchId: string,
  { which, afterIndex, limit }: { readonly which: RawBuilder<unknown>; afterIndex: number; limit: number },
): Promise<BatchSim[]> {
  const { rows } = await sql<SimRow>`
    select b.index, b.sim_id as "simId", coalesce(s.iccid, b.named) as iccid, b.pool_id as "poolId",
           b.tariff_id as "tariffId", b.tag, b.outcome, b.provision_ticket as "provisionTicket",
           b.activate_ticket as "activateTicket", b.unassign_ticket as "unassignTicket", b.step, b.code, b.detail,
           b.ended_at as "endedAt"
      from provision_batch_sims b
      left join sims s on s.id = b.sim_id
     where b.tenant_id = ${mine} and b.batch_id = ${batchId} and b.index > ${afterIndex} ${which}
     order by b.index limit ${limit}`.execute(tx.q)
  return rows.map(toBatchSim)
}

/** Reads a page of a batch's SIMs, by keyset: every page costs the same. */
export async function pageOfBatch(tx: TenantTx, batchId: string, query: BatchSimQuery): Promise<BatchSims> {
  const { outcome, open = false, afterIndex = -1, limit = 100 } = query
  const which = sql`
    ${outcome === undefined ? sql`` : sql`and b.outcome = ${outcome}`}
    ${open ? sql`and b.outcome in ('waiting', 'running')` : sql``}`
  const sims = await readSims(tx, batchId, { which, afterIndex, limit })
  return { sims, nextAfterIndex: sims.length < limit ? null : (sims.at(-1)?.index ?? null) }
}

/** The first SIMs of a batch that did not become Active. */
export const failuresOf = (tx: TenantTx, batchId: string, limit: number): Promise<BatchSim[]> =>
  readSims(tx, batchId, { which: sql`and b.outcome in ('compensated', 'failed')`, afterIndex: -1, limit })

/** Records that SIMs are under way. SIMs that have ended already stay ended. */
export async function noteStarted(tx: TenantTx, batchId: string, places: readonly number[]): Promise<void> {
  await sql`
    update provision_batch_sims set outcome = 'running'
     where tenant_id = ${mine} and batch_id = ${batchId} and outcome = 'waiting'
       and index = any(${[...places]}::integer[])`.execute(tx.q)
}

/** Records how SIMs ended. A SIM's first outcome is kept, so the call is idempotent. */
export async function noteEnded(tx: TenantTx, batchId: string, ends: readonly BatchSimEnd[]): Promise<void> {
  await sql`
    update provision_batch_sims b
       set outcome = e.outcome, provision_ticket = e."provisionTicket", activate_ticket = e."activateTicket",
           unassign_ticket = e."unassignTicket", step = e.step, code = e.code, detail = e.detail, ended_at = ${tx.now}
      from jsonb_to_recordset(${JSON.stringify(ends)}::jsonb)
        as e(index integer, outcome text, "provisionTicket" uuid, "activateTicket" uuid, "unassignTicket" uuid,
             step text, code text, detail text)
     where b.tenant_id = ${mine} and b.batch_id = ${batchId} and b.index = e.index
       and b.outcome in ('waiting', 'running')`.execute(tx.q)
}

/** Ends a batch: SIMs without an outcome are recorded as cancelled. Safe to run twice. */
export async function endBatch(tx: TenantTx, batchId: string): Promise<void> {
  await sql`
    update provision_batch_sims set outcome = 'cancelled', ended_at = ${tx.now}
     where tenant_id = ${mine} and batch_id = ${batchId} and outcome in ('waiting', 'running')`.execute(tx.q)
  await sql`
    update provision_batches set ended_at = coalesce(ended_at, ${tx.now})
     where id = ${batchId}`.execute(tx.q)
}
