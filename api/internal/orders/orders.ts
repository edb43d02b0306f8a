/** Fulfilment of orders: what happens to an order after it is placed. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type ErrorCode, ServiceError } from '../../../domain/errors.ts'
import {
  Completion,
  Failure,
  OrderDetail,
  OrderPayment,
  OrderSim,
  OrderStatusResponse,
  Shipment,
  ShipmentQuery,
} from '../../../domain/orders/order.ts'
import { PageQuery, pageOf } from '../../../domain/page.ts'
import { completeOrder } from '../../../service/orders/complete-order.ts'
import { findOrder, type OrderRecord, toOrderDetail } from '../../../service/orders/rows/orders.ts'
import { orderSimCount, pageOfOrderSims } from '../../../service/orders/rows/sims.ts'
import { setOrderPayment } from '../../../service/orders/set-order-payment.ts'
import { shipOrder } from '../../../service/orders/ship-order.ts'
import { deliverOrder, failOrder, orderNotFound, processOrder } from '../../../service/orders/steps.ts'
import { inTenant, reading, type TenantTx } from '../../../store/tenancy.ts'
import { SIM_FILES, takeSimFiles } from '../../files/sim-files.ts'
import { takeNoBody } from '../../http/app.ts'
import { changeInTenant } from '../../http/change.ts'
import { idempotentInTenant } from '../../http/idempotency.ts'
import { whileThere } from '../../http/left.ts'
import { OrderParams } from '../../http/params.ts'
import { eitherOf, noneTwice, notBoth } from '../../openapi/together.ts'
import type { InternalOptions } from '../../options.ts'

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

async function knownOrder(tx: TenantTx, id: number): Promise<OrderRecord> {
  const order = await findOrder(tx, id)
  if (order === undefined) throw orderNotFound(id)
  return order
}

function missing(parameter: string): never {
  const detail = 'is required in the query where the body is CSV or NDJSON'
  throw new ServiceError('invalid_request', `${parameter} ${detail}.`, { errors: [{ parameter, detail }] })
}

export const orderRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { store, esim }) => {
  const tags = ['Orders']
  const response = { 200: OrderStatusResponse }

  app.get(
    '/orders/:orderId',
    {
      config: { problems: ['order_not_found'] },
      schema: {
        operationId: 'getOrderDetail',
        summary: 'An order, with why it failed and how many SIMs were made for it',
        tags,
        params: OrderParams,
        response: { 200: OrderDetail },
      },
    },
    ({ tenantId, params }) =>
      inTenant(reading(store), tenantId, async (tx) =>
        toOrderDetail(await knownOrder(tx, params.orderId), await orderSimCount(tx, params.orderId)),
      ),
  )

  app.get(
    '/orders/:orderId/sims',
    {
      config: { problems: ['order_not_found'] },
      schema: {
        operationId: 'listOrderSims',
        summary: 'SIMs that were made for an order, by id',
        tags,
        params: OrderParams,
        querystring: PageQuery,
        response: { 200: pageOf(OrderSim) },
      },
    },
    ({ tenantId, params: { orderId }, query }) =>
      inTenant(reading(store), tenantId, async (tx) => {
        await knownOrder(tx, orderId)
        return pageOfOrderSims(tx, orderId, query)
      }),
  )

  app.patch(
    '/orders/:orderId',
    {
      config: { versioned: true, problems: ['order_not_found'] },
      schema: {
        operationId: 'setOrderPayment',
        summary: 'Note the invoice and the receipt of an order; what is left out stays, an empty text takes it off',
        tags,
        params: OrderParams,
        body: OrderPayment,
        response,
      },
    },
    (request) => {
      const { orderId } = request.params
      const resource = { kind: 'order', id: orderId } as const
      return changeInTenant(store, request, (tx) => setOrderPayment(tx, orderId, request.body), resource)
    },
  )

  const withoutBody: FastifyPluginAsyncTypebox = async (scope) => {
    takeNoBody(scope)
    scope.post(
      '/orders/:orderId/process',
      {
        config: { problems: ['order_not_found', 'order_not_pending'] },
        schema: {
          operationId: 'processOrder',
          summary: 'Begin to fulfil a pending order: it cannot be cancelled any more',
          tags,
          params: OrderParams,
          response,
        },
      },
      (request, reply) =>
        idempotentInTenant(store, { request, reply }, (tx) => processOrder(tx, request.params.orderId)),
    )
    scope.post(
      '/orders/:orderId/deliver',
      {
        config: { problems: ['order_not_found', 'order_state_conflict', 'order_type_mismatch'] },
        schema: {
          operationId: 'deliverOrder',
          summary: 'Note that the shipment has arrived',
          tags,
          params: OrderParams,
          response,
        },
      },
      (request, reply) =>
        idempotentInTenant(store, { request, reply }, (tx) => deliverOrder(tx, request.params.orderId)),
    )
  }
  await app.register(withoutBody)

  const shipping: FastifyPluginAsyncTypebox = async (scope) => {
    takeSimFiles(scope)
    scope.post(
      '/orders/:orderId/ship',
      {
        bodyLimit: SHIPMENT_BYTES,
        // A file holds only the SIMs. The rest of the shipment is in the query.
        preValidation: async (request) => {
          if (request.recordLines === null) return
          const { shippingCarrier = missing('shippingCarrier'), trackingNumber = missing('trackingNumber') } =
            request.query
          request.body = { ...request.body, shippingCarrier, trackingNumber }
        },
        config: {
          problems: [...FULFILMENT_PROBLEMS, 'shipping_address_missing'],
          also: { body: { ...eitherOf('iccids', 'sims'), ...noneTwice('iccids') } },
          files: SIM_FILES,
        },
        schema: {
          operationId: 'shipOrder',
          summary: 'Hand physical SIMs to the carrier: they are in the estate from now on, unprovisioned',
          description:
            'All or nothing. JSON has everything; CSV and NDJSON have the SIMs, as an import has, and the query names carrier and tracking number.',
          tags,
          consumes: ['application/json', 'application/x-ndjson', 'text/csv'],
          params: OrderParams,
          querystring: ShipmentQuery,
          body: Shipment,
          response,
        },
      },
      (request, reply) =>
        idempotentInTenant(whileThere(store, request), { request, reply }, (tx) =>
          shipOrder(tx, request.params.orderId, request.body, request.recordLines ?? undefined),
        ),
    )
  }
  await app.register(shipping)

  const completing: FastifyPluginAsyncTypebox = async (scope) => {
    takeSimFiles(scope)
    scope.post(
      '/orders/:orderId/complete',
      {
        bodyLimit: SHIPMENT_BYTES,
        config: {
          problems: FULFILMENT_PROBLEMS,
          also: { body: { ...notBoth('iccids', 'sims'), ...noneTwice('iccids') } },
          files: SIM_FILES,
        },
        schema: {
          operationId: 'completeOrder',
          summary: 'Add the profiles of an eSIM order: they are in the estate from now on, unprovisioned',
          description:
            'All or nothing. Profiles of a carrier come as ICCIDs, or as SIMs with their activation codes: in JSON, or as CSV or NDJSON as an import has. Where none are given, ICCIDs and activation codes are made.',
          tags,
          consumes: ['application/json', 'application/x-ndjson', 'text/csv'],
          params: OrderParams,
          body: Completion,
          response,
        },
      },
      (request, reply) => {
        const completion = { ...request.params, ...request.body }
        return idempotentInTenant(whileThere(store, request), { request, reply }, (tx) =>
          completeOrder(tx, completion, esim, request.recordLines ?? undefined),
        )
      },
    )
  }
  await app.register(completing)

  app.post(
    '/orders/:orderId/fail',
    {
      config: { problems: ['order_not_found', 'order_state_conflict'] },
      schema: {
        operationId: 'failOrder',
        summary: 'Give up an order that is pending or being processed',
        tags,
        params: OrderParams,
        body: Failure,
        response,
      },
    },
    (request, reply) =>
      idempotentInTenant(store, { request, reply }, (tx) => failOrder(tx, request.params.orderId, request.body.reason)),
  )
}
