/** SIMs by order, and the numbers of generated ICCIDs. */
import { sql } from 'kysely'
import type { OrderSim } from '../../../domain/orders/order.ts'
import { type Page, type PageQuery, pageRequest, toPage } from '../../../domain/page.ts'
import { readPage } from '../../../store/paging.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

/** Reads a page of an order's SIMs, by id. */
export async function pageOfOrderSims(tx: TenantTx, orderId: number, query: PageQuery): Promise<Page<OrderSim>> {
  const page = pageRequest(query)
  const { rows, totalItems } = await readPage<OrderSim>(
    tx,
    {
      columns: sql`id, iccid`,
      from: sql`from sims where tenant_id = ${mine} and order_id = ${orderId}::bigint`,
      orderBy: sql`id`,
    },
    page,
  )
  return toPage(page, totalItems, rows)
}

export async function orderSimCount(tx: TenantTx, orderId: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from sims
     where tenant_id = ${mine} and order_id = ${orderId}::bigint`.execute(tx.q)
  return rows[0]?.count ?? 0
}

/** Records that SIMs came with an order. */
export async function linkSims(tx: TenantTx, orderId: number, simIds: readonly number[]): Promise<void> {
  await sql`
    update sims set order_id = ${orderId} where id = any(${simIds}::bigint[])`.execute(tx.q)
}

/** Reserves account numbers unused by generated ICCIDs. */
export async function takeAccounts(tx: TenantTx, count: number): Promise<number[]> {
  const { rows } = await sql<{ account: number }>`
    select nextval('esim_accounts') as account from generate_series(1, ${count}::integer)`.execute(tx.q)
  return rows.map(({ account }) => account)
}
