import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
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
import { cancelOrder, orderNotFound } from '../../service/orders/steps.ts'
import { inTenant, reading } from '../../store/tenancy.ts'
import { takeNoBody } from '../http/app.ts'
import { changeInTenant } from '../http/change.ts'
import { answersVersion } from '../http/etag.ts'
import { idempotentInTenant } from '../http/idempotency.ts'
import { linked, takesCursor } from '../http/links.ts'
import { OrderParams } from '../http/params.ts'
import type { RouteOptions } from '../options.ts'

export const orderRoutes: FastifyPluginAsyncTypebox<RouteOptions> = async (app, { store }) => {
  const tags = ['Orders']

  app.get(
    '/orders',
    {
      schema: {
        operationId: 'listOrders',
        summary: 'Orders, newest first',
        description: 'Newest first; all filters that are given hold.',
        tags,
        querystring: OrderQuery,
        response: { 200: pageOf(Order) },
      },
      preValidation: takesCursor('orders'),
    },
    async (request, reply) =>
      linked(
        request,
        reply,
        await inTenant(reading(store), request.tenantId, (tx) => pageOfOrders(tx, filterOf(request.query))),
      ),
  )

  app.post(
    '/orders',
    {
      config: { problems: ['order_type_unavailable'] },
      schema: {
        operationId: 'createOrder',
        summary: 'Order SIMs at the price of this moment',
        description: 'The unit price is fixed now. The address may be left out, and brought by whoever ships it.',
        tags,
        body: NewOrder,
        response: { 200: OrderResponse },
      },
    },
    (request, reply) => idempotentInTenant(store, { request, reply }, (tx) => createOrder(tx, request.body)),
  )

  app.get(
    '/orders/pricing',
    {
      schema: {
        operationId: 'getOrderPricing',
        summary: 'What a unit of each type that can be ordered costs now',
        description: 'Of one SIM, in units of the currency. A type that is not in the list cannot be ordered.',
        tags,
        response: { 200: Type.Array(PricingEntry) },
      },
    },
    ({ tenantId }) => inTenant(reading(store), tenantId, async (tx) => toPrices(await pricesInForce(tx))),
  )

  app.get(
    '/orders/metadata',
    {
      schema: {
        operationId: 'getOrderMetadata',
        summary: 'Labels of order types',
        description: 'The codes of `type`, each with its label. The status of an order is a word, not a code.',
        tags,
        response: { 200: OrderMetadata },
      },
    },
    async () => orderMetadata,
  )

  app.get(
    '/orders/:orderId',
    {
      config: { problems: ['order_not_found'], versioned: true },
      schema: {
        operationId: 'getOrder',
        summary: 'One order',
        description: 'Fields that are null are not known: no address was given, nothing was shipped or invoiced yet.',
        tags,
        params: OrderParams,
        response: { 200: Order },
      },
    },
    ({ tenantId, params: { orderId } }, reply) =>
      inTenant(reading(store), tenantId, async (tx) => {
        const order = await findOrder(tx, orderId)
        answersVersion(reply, order?.version)
        if (order === undefined) throw orderNotFound(orderId)
        return toOrder(order)
      }),
  )

  const withoutBody: FastifyPluginAsyncTypebox = async (scope) => {
    takeNoBody(scope)
    scope.delete(
      '/orders/:orderId',
      {
        config: { versioned: true, problems: ['order_not_found', 'order_not_pending'] },
        schema: {
          operationId: 'cancelOrder',
          summary: 'Cancel a pending order',
          description: 'Takes no body. Only a Pending order can be cancelled; it can still be read, as Cancelled.',
          tags,
          params: OrderParams,
          response: { 200: OrderStatusResponse },
        },
      },
      (request) => {
        const { orderId } = request.params
        return changeInTenant(store, request, (tx) => cancelOrder(tx, orderId), { kind: 'order', id: orderId })
      },
    )
  }
  await app.register(withoutBody)
}
