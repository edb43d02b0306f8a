/** Fulfilment of orders, and their prices. */
import { Type } from 'typebox'
import { OrderType } from '../../../domain/codes.ts'
import { type ErrorCode, ServiceError } from '../../../domain/errors.ts'
import {
  Completion,
  Failure,
  OrderDetail,
  OrderPayment,
  OrderPrices,
  OrderSim,
  OrderStatusResponse,
  Shipment,
  ShipmentQuery,
} from '../../../domain/orders/order.ts'
import { PageQuery, pageOf } from '../../../domain/page.ts'
import { strictObject } from '../../../domain/schema.ts'
import { completeOrder } from '../../../service/orders/complete-order.ts'
import { findOrder, orderSimCount, pageOfOrderSims, toOrderDetail } from '../../../service/orders/rows/orders.ts'
import { ownPrices } from '../../../service/orders/rows/prices.ts'
import { setOrderPayment } from '../../../service/orders/set-order-payment.ts'
import { setOrderPrices, toPrices } from '../../../service/orders/set-order-prices.ts'
import { shipOrder } from '../../../service/orders/ship-order.ts'
import { deliverOrder, failOrder, processOrder } from '../../../service/orders/steps.ts'
import type { PlatformTx, TenantTx } from '../../../store/tenancy.ts'
import { IGNORE_UNKNOWN, IGNORED } from '../../files/ignored-fields.ts'
import { SIM_FILES } from '../../files/sim-files.ts'
import { takeNoBody } from '../../http/app.ts'
import { internalRoutes } from '../../http/declare-routes.ts'
import { answersVersion } from '../../http/etag.ts'
import { OrderParams } from '../../http/params.ts'
import { mustBeFound } from '../../http/problems.ts'
import { eitherOf, noneTwice, notBoth, onePriceOf } from '../../openapi/together.ts'

/** Problems of the routes that make an order's SIMs. */
const FULFILMENT_PROBLEMS: readonly ErrorCode[] = [
  'order_not_found',
  'order_state_conflict',
  'sim_exists',
  'order_quantity_mismatch',
  'order_type_mismatch',
]

/** Limit for a body, in bytes. Enough for 10,000 SIMs with all their fields. */
const SHIPMENT_BYTES = 8 * 1024 * 1024

const knownOrder = async (tx: TenantTx, id: number) =>
  mustBeFound(await findOrder(tx, id), 'order_not_found', `order ${id}`)

function missing(parameter: string): never {
  const detail = 'is required in the query where the body is CSV or NDJSON'
  throw new ServiceError('invalid_request', `${parameter} ${detail}.`, { errors: [{ parameter, detail }] })
}

const readPrices = async (tx: TenantTx | PlatformTx) => ({ prices: toPrices(await ownPrices(tx)) })

const response = { 200: OrderStatusResponse }
const fulfilled = { 200: strictObject({ ...OrderStatusResponse.properties, ...IGNORED }) }
const route = internalRoutes('Orders')
const priceRoute = internalRoutes('Orders', { tenant: 'or-platform' })

export const internalOrderRoutes = [
  route('GET', '/orders/:orderId', {
    operationId: 'getOrderDetail',
    summary: 'An order, with its failure and its number of SIMs',
    problems: ['order_not_found'],
    versioned: true,
    params: OrderParams,
    response: { 200: OrderDetail },
    read: async (tx, { params }, { reply }) => {
      const order = await knownOrder(tx, params.orderId)
      answersVersion(reply, order.version)
      return toOrderDetail(order, await orderSimCount(tx, params.orderId))
    },
  }),
  route('GET', '/orders/:orderId/sims', {
    operationId: 'listOrderSims',
    summary: 'SIMs created for an order, by id',
    problems: ['order_not_found'],
    params: OrderParams,
    query: PageQuery,
    response: { 200: pageOf(OrderSim) },
    read: async (tx, { params: { orderId }, query }) => {
      await knownOrder(tx, orderId)
      return pageOfOrderSims(tx, orderId, query)
    },
  }),
  route('PATCH', '/orders/:orderId', {
    operationId: 'setOrderPayment',
    summary: 'Set the invoice and receipt of an order; omitted fields stay, an empty text removes the value',
    problems: ['order_not_found'],
    params: OrderParams,
    body: OrderPayment,
    response,
    resource: ({ params }) => ({ kind: 'order', id: params.orderId }),
    change: (tx, { params, body }) => setOrderPayment(tx, params.orderId, body),
  }),
  route('POST', '/orders/:orderId/process', {
    operationId: 'processOrder',
    summary: 'Begin to fulfil a pending order: it can no longer be cancelled',
    problems: ['order_not_found', 'order_not_pending'],
    bodies: takeNoBody,
    params: OrderParams,
    response,
    change: (tx, { params }) => processOrder(tx, params.orderId),
  }),
  route('POST', '/orders/:orderId/deliver', {
    operationId: 'deliverOrder',
    summary: 'Record the arrival of the shipment',
    problems: ['order_not_found', 'order_state_conflict', 'order_type_mismatch'],
    bodies: takeNoBody,
    params: OrderParams,
    response,
    change: (tx, { params }) => deliverOrder(tx, params.orderId),
  }),
  route('POST', '/orders/:orderId/ship', {
    operationId: 'shipOrder',
    summary: 'Ship physical SIMs: they join the estate, unprovisioned',
    description:
      'Ships either every SIM or none. JSON contains all fields; CSV and NDJSON contain the SIMs, as for an import, and the query names carrier and tracking number.',
    problems: [...FULFILMENT_PROBLEMS, 'shipping_address_missing'],
    also: { body: { ...eitherOf('iccids', 'sims'), ...noneTwice('iccids') } },
    ...SIM_FILES,
    params: OrderParams,
    query: Type.Object({ ...ShipmentQuery.properties, ...IGNORE_UNKNOWN }),
    body: Shipment,
    response: fulfilled,
    bodyLimit: SHIPMENT_BYTES,
    // A file holds only the SIMs. The rest of the shipment is in the query.
    preValidation: async (request) => {
      if (request.recordLines === null) return
      const { shippingCarrier = missing('shippingCarrier'), trackingNumber = missing('trackingNumber') } = request.query
      request.body = { ...request.body, shippingCarrier, trackingNumber }
    },
    change: async (tx, { params, body, recordLines, ignored }) => ({
      ...(await shipOrder(tx, params.orderId, body, recordLines ?? undefined)),
      ignored: ignored?.names ?? [],
    }),
  }),
  route('POST', '/orders/:orderId/complete', {
    operationId: 'completeOrder',
    summary: 'Add the profiles of an eSIM order: they join the estate, unprovisioned',
    description:
      "Adds either every profile or none. Give a carrier's profiles as ICCIDs, or as SIMs with activation codes: in JSON, or in CSV or NDJSON as for an import. Without profiles, ICCIDs and activation codes are generated.",
    problems: FULFILMENT_PROBLEMS,
    also: { body: { ...notBoth('iccids', 'sims'), ...noneTwice('iccids') } },
    ...SIM_FILES,
    params: OrderParams,
    query: Type.Object(IGNORE_UNKNOWN),
    body: Completion,
    response: fulfilled,
    bodyLimit: SHIPMENT_BYTES,
    change: async (tx, { params, body, recordLines, ignored }, { esim }) => ({
      ...(await completeOrder(tx, { ...params, ...body }, esim, recordLines ?? undefined)),
      ignored: ignored?.names ?? [],
    }),
  }),
  route('POST', '/orders/:orderId/fail', {
    operationId: 'failOrder',
    summary: 'Fail a pending or processing order',
    problems: ['order_not_found', 'order_state_conflict'],
    params: OrderParams,
    body: Failure,
    response,
    change: (tx, { params, body }) => failOrder(tx, params.orderId, body.reason),
  }),
  priceRoute('GET', '/order-prices', {
    operationId: 'getOrderPrices',
    summary: "Unit prices: a tenant's own, or the platform's (@platform)",
    response: { 200: OrderPrices },
    read: readPrices,
    readPlatform: readPrices,
  }),
  priceRoute('PUT', '/order-prices', {
    operationId: 'setOrderPrices',
    summary: 'Replace unit prices; existing orders keep theirs',
    description:
      'With X-Tenant-Id @platform: the platform’s prices; omitted types cannot be ordered. With a tenant’s id: its own prices; omitted types have the platform’s price.',
    also: { body: onePriceOf(Object.values(OrderType)) },
    body: OrderPrices,
    response: { 200: OrderPrices },
    change: (tx, { body }) => setOrderPrices(tx, body),
    changePlatform: (tx, { body }) => setOrderPrices(tx, body),
  }),
]
