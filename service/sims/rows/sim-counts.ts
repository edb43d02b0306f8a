/**
 * Counts of SIMs by status, and the start of a page in the list. From `sim_blocks`, without counting SIMs.
 *
 * Code that inserts SIMs or changes their status counts the change here.
 */
import { type RawBuilder, sql } from 'kysely'
import { SimStatus } from '../../../domain/codes.ts'
import { offsetOf, type PageRequest } from '../../../domain/page.ts'
import { kept } from '../../../store/kept.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

/** Counts SIMs inserted by this transaction; without a status they are Unprovisioned. @returns them */
export function countNewSims<Row extends { readonly id: number; readonly status?: SimStatus }>(
  tx: TenantTx,
  sims: Row[],
): Row[] {
  for (const { id, status = SimStatus.Unprovisioned } of sims) tx.tally({ simId: id, status, by: 1 })
  return sims
}

/** An increase of the SIMs of a pool. */
export interface PoolMore {
  readonly poolId: number
  readonly active: number
  readonly total: number
}

/**
 * Counts SIMs inserted by this transaction into pools: the trigger counts changes only. Locks the pools by id, as
 * tickets do before they lock cycles.
 */
export async function countInPools(tx: TenantTx, more: readonly PoolMore[]): Promise<void> {
  if (more.length === 0) return
  const ids = more.map(({ poolId }) => poolId)
  await sql`
    select from pools where id = any(${ids}::integer[])
     order by id for no key update`.execute(tx.q)
  await sql`
    update pools p
       set active_sim_count = p.active_sim_count + m.active, total_sim_count = p.total_sim_count + m.total
      from jsonb_to_recordset(${JSON.stringify(more)}::jsonb) as m("poolId" integer, active integer, total integer)
     where p.id = m."poolId"`.execute(tx.q)
}

/** Counts the change of a SIM's status. */
export function countStatusChange(tx: TenantTx, simId: number, from: SimStatus, to: SimStatus): void {
  if (from === to) return
  tx.tally({ simId, status: from, by: -1 })
  tx.tally({ simId, status: to, by: 1 })
}

/** Ids of a page, and the size of the whole list. */
export interface IdPage {
  readonly ids: number[]
  readonly totalItems: number
}

const one = async (tx: TenantTx, statement: RawBuilder<IdPage>): Promise<IdPage> =>
  (await statement.execute(tx.q)).rows[0] ?? { ids: [], totalItems: 0 }

/**
 * Reads a page of all SIMs, or of those of a status, by id. The counts of the blocks give the block in which the page
 * begins: of the SIMs before the page only those of that block are read.
 */
export function pageByBlocks(tx: TenantTx, status: SimStatus | undefined, page: PageRequest): Promise<IdPage> {
  const offset = offsetOf(page)
  const ofStatus = status === undefined ? sql`` : sql`and status = ${status}`
  return one(
    tx,
    sql<IdPage>`${kept}
      with placed as (
        select block, sum(sims) as sims, sum(sum(sims)) over (order by block) - sum(sims) as before
          from sim_blocks where tenant_id = ${mine} ${ofStatus} group by block
      ), start as (
        select block, before from placed where before <= ${offset} and before + sims > ${offset}
      ), page as (
        select s.id from start, lateral (
          select id from sims where tenant_id = ${tx.tenantId} and id >= start.block << 12 ${ofStatus}
           order by id limit ${page.pageSize} offset ${offset} - start.before) s
      )
      select (select coalesce(sum(sims), 0) from placed)::integer as "totalItems",
             to_jsonb(array(select id from page order by id)) as ids`,
  )
}

/**
 * A page of the SIMs in a pool, by id: all of them, or the Active or Suspended ones. The pool's row has their number.
 */
export function pageOfPool(
  tx: TenantTx,
  poolId: number,
  status: SimStatus | undefined,
  page: PageRequest,
): Promise<IdPage> {
  const count =
    status === undefined
      ? sql`total_sim_count`
      : status === SimStatus.Active
        ? sql`active_sim_count`
        : sql`total_sim_count - active_sim_count`
  const ofStatus = status === undefined ? sql`` : sql`and status = ${status}`
  return one(
    tx,
    sql<IdPage>`${kept}
      select coalesce((select ${count} from pools where id = ${poolId}::bigint), 0)
               as "totalItems",
             to_jsonb(array(select id from sims
                             where pool_id = ${poolId}::bigint ${ofStatus}
                             order by id limit ${page.pageSize} offset ${offsetOf(page)})) as ids`,
  )
}
