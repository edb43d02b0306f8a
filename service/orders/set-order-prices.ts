import { ServiceError } from '../../domain/errors.ts'
import type { OrderPrices } from '../../domain/orders/order.ts'
import { fromMoney, toMoney } from '../../domain/units.ts'
import { noteChange } from '../../store/audit.ts'
import type { PlatformTx, TenantTx } from '../../store/tenancy.ts'
import { type OrderPrice, ownPrices, replacePrices } from './rows/prices.ts'

/** Prices as the interface shows them. */
export const toPrices = (prices: readonly OrderPrice[]): OrderPrices['prices'] =>
  prices.map(({ type, priceMicro }) => ({ type, price: toMoney(priceMicro) }))

/**
 * Sets the unit prices from now on: those of the platform, or a tenant's. The list replaces the previous one. An
 * omitted type no longer has a price here.
 *
 * @throws ServiceError `invalid_request` if a type is named twice
 */
export async function setOrderPrices(tx: TenantTx | PlatformTx, { prices }: OrderPrices): Promise<OrderPrices> {
  const errors = prices.flatMap(({ type }, index) =>
    prices.findIndex((other) => other.type === type) < index
      ? [{ pointer: `/prices/${index}/type`, detail: 'has a price already' }]
      : [],
  )
  if (errors.length > 0) throw new ServiceError('invalid_request', 'A type has one price.', { errors })
  const before = toPrices(await ownPrices(tx))
  const stored = prices.map(({ type, price }) => ({ type, priceMicro: fromMoney(price) }))
  await replacePrices(tx, stored)
  const after = toPrices(await ownPrices(tx))
  const id = 'tenantId' in tx ? tx.tenantId : 'platform'
  await noteChange(tx, { subject: 'order-prices', id, before: { prices: before }, after: { prices: after } })
  return { prices: after }
}
