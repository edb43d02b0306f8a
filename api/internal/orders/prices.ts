import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { OrderType } from '../../../domain/codes.ts'
import { OrderPrices } from '../../../domain/orders/order.ts'
import { ownPrices } from '../../../service/orders/rows/prices.ts'
import { setOrderPrices, toPrices } from '../../../service/orders/set-order-prices.ts'
import { inPlatform, inTenant, reading } from '../../../store/tenancy.ts'
import { changeInTenant, onBehalfOf } from '../../http/change.ts'
import { onePriceOf } from '../../openapi/together.ts'
import type { InternalOptions } from '../../options.ts'

export const orderPriceRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { store }) => {
  const tags = ['Orders']
  const config = { tenant: 'or-platform' } as const

  app.get(
    '/order-prices',
    {
      config,
      schema: {
        operationId: 'getOrderPrices',
        summary: 'What a unit costs: the prices a tenant has of its own, or those of @platform',
        tags,
        response: { 200: OrderPrices },
      },
    },
    ({ tenantId }) =>
      tenantId === ''
        ? inPlatform(store, async (tx) => ({ prices: toPrices(await ownPrices(tx)) }))
        : inTenant(reading(store), tenantId, async (tx) => ({ prices: toPrices(await ownPrices(tx)) })),
  )

  app.put(
    '/order-prices',
    {
      config: { ...config, also: { body: onePriceOf(Object.values(OrderType)) } },
      schema: {
        operationId: 'setOrderPrices',
        summary: 'Replace what a unit costs from now on; orders that were made keep their price',
        description:
          'With X-Tenant-Id @platform the platform’s prices: a type that is left out cannot be ordered. With a tenant’s id its own: for a type that is left out the platform’s price holds.',
        tags,
        body: OrderPrices,
        response: { 200: OrderPrices },
      },
    },
    (request) =>
      request.tenantId === ''
        ? inPlatform(onBehalfOf(store, request), (tx) => setOrderPrices(tx, request.body))
        : changeInTenant(store, request, (tx) => setOrderPrices(tx, request.body)),
  )
}
