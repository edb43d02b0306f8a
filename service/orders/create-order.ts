import { labelOf, OrderType } from '../../domain/codes.ts'
import { ServiceError } from '../../domain/errors.ts'
import { totalMicroOf } from '../../domain/orders/decisions.ts'
import type { NewOrder, OrderResponse } from '../../domain/orders/order.ts'
import { toMoney } from '../../domain/units.ts'
import { noteChange } from '../../store/audit.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { insertOrder, toOrder } from './rows/orders.ts'
import { pricesInForce } from './rows/prices.ts'
import { recordOrderEvent } from './steps.ts'

/**
 * Creates an order, Pending, at the present price. Later price changes do not affect it. Records an event.
 *
 * @throws ServiceError `order_type_unavailable` if the type has no price
 */
export async function createOrder(tx: TenantTx, asked: NewOrder): Promise<OrderResponse> {
  const price = (await pricesInForce(tx)).find(({ type }) => type === asked.type)
  if (price === undefined) {
    throw new ServiceError(
      'order_type_unavailable',
      `Type ${asked.type} (${labelOf(OrderType, asked.type)}) has no price: it cannot be ordered.`,
    )
  }
  const totalMicro = totalMicroOf(asked.quantity, price.priceMicro)
  const order = await insertOrder(tx, { ...asked, unitPriceMicro: price.priceMicro, totalMicro })
  await recordOrderEvent(tx, order)
  const { id, date: _date, ...after } = toOrder(order)
  await noteChange(tx, { subject: 'order', id, before: null, after })
  return { id, status: order.status, cost: toMoney(order.totalMicro) }
}
