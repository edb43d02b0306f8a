import { Type } from 'typebox'
import {
  filterOf,
  NewOrder,
  Order,
  OrderMetadata,
  OrderQuery,
  OrderResponse,
  OrderStatusResponse,
  orderMetadata,
  PricingEntry,
} from '../../domain/orders/order.ts'
import { pageOf } from '../../domain/page.ts'
import { createOrder } from '../../service/orders/create-order.ts'
import { findOrder, pageOfOrders, toOrder } from '../../service/orders/rows/orders.ts'
import { pricesInForce } from '../../service/orders/rows/prices.ts'
import { toPrices } from '../../service/orders/set-order-prices.ts'
import { cancelOrder } from '../../service/orders/steps.ts'
import { takeNoBody } from '../http/app.ts'
import { publicRoutes } from '../http/declare-routes.ts'
import { answersVersion } from '../http/etag.ts'
import { OrderParams } from '../http/params.ts'
import { mustBeFound } from '../http/problems.ts'

const route = publicRoutes('Orders')

export const orderRoutes = [
  route('GET', '/orders', {
    operationId: 'listOrders',
    summary: 'Orders, newest first',
    description: 'Newest first; items match every given filter.',
    query: OrderQuery,
    response: { 200: pageOf(Order) },
    cursor: 'orders',
    walk: (tx, { query }) => pageOfOrders(tx, filterOf(query)),
  }),
  route('POST', '/orders', {
    operationId: 'createOrder',
    summary: 'Order SIMs at the current price',
    description: 'The unit price is fixed now. The address is optional: the shipment can set it.',
    problems: ['order_type_unavailable'],
    body: NewOrder,
    response: { 200: OrderResponse },
    change: (tx, { body }) => createOrder(tx, body),
  }),
  route('GET', '/orders/pricing', {
    operationId: 'getOrderPricing',
    summary: 'Current unit prices of the order types',
    description: 'Price of one SIM, in units of the currency. Types missing from the list cannot be ordered.',
    response: { 200: Type.Array(PricingEntry) },
    read: async (tx) => toPrices(await pricesInForce(tx)),
  }),
  route('GET', '/orders/metadata', {
    operationId: 'getOrderMetadata',
    summary: 'Labels of order types',
    description: 'The codes of `type`, each with its label. The status of an order is a word, not a code.',
    response: { 200: OrderMetadata },
    handle: async () => orderMetadata,
  }),
  route('GET', '/orders/:orderId', {
    operationId: 'getOrder',
    summary: 'An order by id',
    description: 'Null fields are unknown: no address was given, or the order was not shipped or invoiced yet.',
    problems: ['order_not_found'],
    versioned: true,
    params: OrderParams,
    response: { 200: Order },
    read: async (tx, { params: { orderId } }, { reply }) => {
      const order = mustBeFound(await findOrder(tx, orderId), 'order_not_found', `order ${orderId}`)
      answersVersion(reply, order.version)
      return toOrder(order)
    },
  }),
  route('DELETE', '/orders/:orderId', {
    operationId: 'cancelOrder',
    summary: 'Cancel a pending order',
    description: 'Takes no body. Only a Pending order can be cancelled; afterwards it can be read, as Cancelled.',
    problems: ['order_not_found', 'order_not_pending'],
    bodies: takeNoBody,
    params: OrderParams,
    response: { 200: OrderStatusResponse },
    resource: ({ params }) => ({ kind: 'order', id: params.orderId }),
    change: (tx, { params }) => cancelOrder(tx, params.orderId),
  }),
]
