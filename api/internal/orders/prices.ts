import { OrderType } from '../../../domain/codes.ts'
import { OrderPrices } from '../../../domain/orders/order.ts'
import { ownPrices } from '../../../service/orders/rows/prices.ts'
import { setOrderPrices, toPrices } from '../../../service/orders/set-order-prices.ts'
import type { PlatformTx, TenantTx } from '../../../store/tenancy.ts'
import { declareRoutes } from '../../http/declare-routes.ts'
import { onePriceOf } from '../../openapi/together.ts'
import type { InternalOptions } from '../../options.ts'

const readPrices = async (tx: TenantTx | PlatformTx) => ({ prices: toPrices(await ownPrices(tx)) })

const route = declareRoutes<InternalOptions>('Orders', { tenant: 'or-platform' })

export const orderPriceRoutes = [
  route('GET', '/order-prices', {
    operationId: 'getOrderPrices',
    summary: "Unit prices: a tenant's own, or the platform's (@platform)",
    response: { 200: OrderPrices },
    read: readPrices,
    readPlatform: readPrices,
  }),
  route('PUT', '/order-prices', {
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
