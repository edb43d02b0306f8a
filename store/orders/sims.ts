/** SIMs of orders: which SIM came with which order, and the profiles that are made for eSIMs. */
import { sql } from 'kysely'
import type { OrderSim } from '../../domain/orders/order.ts'
import { type Page, type PageQuery, pageRequest, toPage } from '../../domain/page.ts'
import { countNewSims } from '../estate/sim-counts.ts'
import { readPage } from '../paging.ts'
import { mine, type TenantTx } from '../tenancy.ts'

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

/** Reserves account numbers that no other generated ICCID uses. */
export async function takeAccounts(tx: TenantTx, count: number): Promise<number[]> {
  const { rows } = await sql<{ account: number }>`
    select nextval('esim_accounts') as account from generate_series(1, ${count}::integer)`.execute(tx.q)
  return rows.map(({ account }) => account)
}

/** An eSIM's profile: the code that a device scans to download it. A secret until then. */
export interface Profile {
  readonly iccid: string
  /** `LPA:1$host$matching-id` */
  readonly qrPayload: string
  /** The payload as a QR code: a PNG in a data URL. */
  readonly qrDataUrl: string
}

/**
 * Inserts the eSIMs of an order, Unprovisioned. One statement, whatever their number.
 *
 * An ICCID that already exists, for this tenant or another, is skipped.
 *
 * @returns ICCIDs of the SIMs that were inserted
 */
export async function insertProfiles(tx: TenantTx, orderId: number, profiles: readonly Profile[]): Promise<string[]> {
  const { rows } = await sql<{ iccid: string; id: number }>`
    insert into sims (iccid, type, order_id, esim_qr_payload, esim_qr_data_url, status_since, created_at, updated_at)
    select p.iccid, 1, ${orderId}::integer, p."qrPayload", p."qrDataUrl", ${tx.now}::timestamptz, ${tx.now}, ${tx.now}
      from jsonb_to_recordset(${JSON.stringify(profiles)}::jsonb) as p(iccid text, "qrPayload" text, "qrDataUrl" text)
     order by p.iccid
    on conflict (iccid) do nothing
    returning iccid, id`.execute(tx.q)
  return countNewSims(tx, rows).map(({ iccid }) => iccid)
}
