/** Orders and their SIMs, and the numbers of generated ICCIDs. Lock order: the order, then SIMs. */
import { type RawBuilder, sql } from 'kysely'
import type { OrderType } from '../../../domain/codes.ts'
import type { Place } from '../../../domain/cursor.ts'
import { ServiceError } from '../../../domain/errors.ts'
import type {
  NewOrder,
  Order,
  OrderAddress,
  OrderDetail,
  OrderFilter,
  OrderSim,
  OrderStatus,
} from '../../../domain/orders/order.ts'
import { type Page, type PageQuery, pageRequest, toPage } from '../../../domain/page.ts'
import { toMoney } from '../../../domain/units.ts'
import {
  KEYSET_PAGE,
  keysetPages,
  microsOf,
  olderThan,
  pageLimit,
  placeAfter,
  placeOf,
} from '../../../store/keyset-pages.ts'
import { type Part, readPage, readPart, searched, within } from '../../../store/paging.ts'
import { mine, type Store, type TenantTx } from '../../../store/tenancy.ts'

/** An order as stored: money in micro-units of the currency. */
export interface OrderRecord extends OrderAddress {
  readonly id: number
  readonly type: OrderType
  readonly quantity: number
  readonly unitPriceMicro: number
  readonly totalMicro: number
  readonly status: OrderStatus
  readonly paymentInvoiceId: string | null
  readonly paymentReceiptUrl: string | null
  readonly trackingNumber: string | null
  readonly shippingCarrier: string | null
  readonly failureReason: string | null
  readonly version: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

const columns = sql`id, type, quantity, unit_price as "unitPriceMicro", total as "totalMicro", status,
  payment_invoice_id as "paymentInvoiceId", payment_receipt_url as "paymentReceiptUrl",
  shipping_company as "shippingCompany", shipping_line1 as "shippingLine1", shipping_line2 as "shippingLine2",
  shipping_city as "shippingCity", shipping_country as "shippingCountry", shipping_postcode as "shippingPostcode",
  shipping_extra_info as "shippingExtraInfo", tracking_number as "trackingNumber", shipping_carrier as "shippingCarrier",
  failure_reason as "failureReason", version, created_at as "createdAt", updated_at as "updatedAt"`

/** An order as the interface shows it. */
export const toOrder = (record: OrderRecord): Order => ({
  id: record.id,
  type: record.type,
  quantity: record.quantity,
  unitPrice: toMoney(record.unitPriceMicro),
  total: toMoney(record.totalMicro),
  status: record.status,
  date: record.createdAt.toISOString(),
  paymentInvoiceId: record.paymentInvoiceId,
  paymentReceiptUrl: record.paymentReceiptUrl,
  shippingCompany: record.shippingCompany,
  shippingLine1: record.shippingLine1,
  shippingLine2: record.shippingLine2,
  shippingCity: record.shippingCity,
  shippingCountry: record.shippingCountry,
  shippingPostcode: record.shippingPostcode,
  shippingExtraInfo: record.shippingExtraInfo,
  trackingNumber: record.trackingNumber,
  shippingCarrier: record.shippingCarrier,
})

/** An order with its details, as the interface shows it. */
export const toOrderDetail = (record: OrderRecord, simCount: number): OrderDetail => ({
  ...toOrder(record),
  updatedAt: record.updatedAt.toISOString(),
  failureReason: record.failureReason,
  simCount,
})

/** Columns that `search` looks in. */
const SEARCHED = [
  'status',
  'payment_invoice_id',
  'shipping_company',
  'shipping_line1',
  'shipping_line2',
  'shipping_city',
  'shipping_country',
  'shipping_postcode',
  'shipping_extra_info',
  'tracking_number',
  'shipping_carrier',
]

type OrderMatch = Omit<OrderFilter, 'page' | 'cursor'>

const matching = ({ search, type, status, date }: OrderMatch): RawBuilder<unknown> => sql`
  ${search === undefined ? sql`` : sql`and ${searched(SEARCHED, search)}`}
  ${type === undefined ? sql`` : sql`and type = ${type}`}
  ${status === undefined ? sql`` : sql`and status = ${status}`}
  ${within(sql`created_at`, date)}`

const placed = sql`${columns}, ${microsOf(sql`created_at`)}`

/** The first orders after a place. */
async function ordersAfter(tx: TenantTx, filter: OrderMatch, after: Place | null, most: number) {
  const { rows } = await sql<OrderRecord & Place>`
    select ${placed} from orders
     where tenant_id = ${mine} ${olderThan(sql`created_at`, after)} ${matching(filter)}
     order by created_at desc, id desc limit ${pageLimit(most)}`.execute(tx.q)
  return rows
}

/**
 * Reads a page of the orders, newest first, or the part after a cursor.
 *
 * @throws ServiceError invalid_request if `date` is not a day of the calendar, or the cursor is none
 */
export function pageOfOrders(tx: TenantTx, filter: OrderFilter): Promise<Part<Order>> {
  const from = sql`from orders where tenant_id = ${mine} ${matching(filter)}`
  return readPart<OrderRecord & Place, Order>('orders', filter, {
    page: () =>
      readPage<OrderRecord & Place>(
        tx,
        { columns: placed, from, orderBy: sql`"createdAt" desc, id desc` },
        filter.page,
      ),
    after: (place, most) => ordersAfter(tx, filter, place, most),
    placeOf,
    show: (rows) => rows.map(toOrder),
  })
}

/** Reads all orders, newest first, page by page. */
export const listOrders = (store: Store, tenantId: string, filter: OrderMatch): AsyncGenerator<Order[]> =>
  keysetPages(store, tenantId, async (tx, after: Place | null) => {
    const rows = await ordersAfter(tx, filter, after, KEYSET_PAGE)
    return { items: rows.map(toOrder), next: placeAfter(rows, placeOf) }
  })

const oneOrder = (id: number) => sql<OrderRecord>`
  select ${columns} from orders where id = ${id}::bigint`

export async function findOrder(tx: TenantTx, id: number): Promise<OrderRecord | undefined> {
  const { rows } = await oneOrder(id).execute(tx.q)
  return rows[0]
}

/** Locks an order and reads it. Lock the order before any of its SIMs. @throws ServiceError `order_not_found` */
export async function lockOrder(tx: TenantTx, id: number): Promise<OrderRecord> {
  const { rows } = await sql<OrderRecord>`${oneOrder(id)} for update`.execute(tx.q)
  const [order] = rows
  if (order === undefined) throw new ServiceError('order_not_found', `There is no order ${id}.`)
  return order
}

/** Inserts an order, Pending. Money in micro-units. @returns the order */
export async function insertOrder(
  tx: TenantTx,
  order: NewOrder & Pick<OrderRecord, 'unitPriceMicro' | 'totalMicro'>,
): Promise<OrderRecord> {
  const { rows } = await sql<OrderRecord>`
    insert into orders (type, quantity, unit_price, total, shipping_company, shipping_line1, shipping_line2,
                        shipping_city, shipping_country, shipping_postcode, shipping_extra_info, created_at, updated_at)
    values (${order.type}, ${order.quantity}, ${order.unitPriceMicro}, ${order.totalMicro},
            ${order.shippingCompany ?? null}, ${order.shippingLine1 ?? null}, ${order.shippingLine2 ?? null},
            ${order.shippingCity ?? null}, ${order.shippingCountry ?? null}, ${order.shippingPostcode ?? null},
            ${order.shippingExtraInfo ?? null}, ${tx.now}, ${tx.now})
    returning ${columns}`.execute(tx.q)
  const [row] = rows
  if (row === undefined) throw new Error('insert into orders returned no row')
  return row
}

/** Writes the fields of an order that may change, and raises its version. Call with the order locked. */
export async function writeOrder(tx: TenantTx, order: OrderRecord): Promise<void> {
  await sql`
    update orders
       set status = ${order.status}, payment_invoice_id = ${order.paymentInvoiceId},
           payment_receipt_url = ${order.paymentReceiptUrl}, shipping_company = ${order.shippingCompany},
           shipping_line1 = ${order.shippingLine1}, shipping_line2 = ${order.shippingLine2},
           shipping_city = ${order.shippingCity}, shipping_country = ${order.shippingCountry},
           shipping_postcode = ${order.shippingPostcode}, shipping_extra_info = ${order.shippingExtraInfo},
           tracking_number = ${order.trackingNumber}, shipping_carrier = ${order.shippingCarrier},
           failure_reason = ${order.failureReason}, version = version + 1, updated_at = ${tx.now}
     where id = ${order.id}`.execute(tx.q)
}

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
export async function linkSims(tx: TenantTx, orderId: number, sims: readonly { id: number }[]): Promise<void> {
  await sql`
    update sims set order_id = ${orderId} where id = any(${sims.map(({ id }) => id)}::bigint[])`.execute(tx.q)
}

/** Reserves account numbers unused by generated ICCIDs. */
export async function takeAccounts(tx: TenantTx, count: number): Promise<number[]> {
  const { rows } = await sql<{ account: number }>`
    select nextval('esim_accounts') as account from generate_series(1, ${count}::integer)`.execute(tx.q)
  return rows.map(({ account }) => account)
}
