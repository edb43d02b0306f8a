/**
 * Which steps an order may take, and why not. Pure.
 *
 *   Physical SIM  Pending ─process─▶ Processing ─ship─▶ Shipped ─deliver─▶ Delivered
 *   eSIM          Pending ─process─▶ Processing ─complete─▶ Completed
 *   both          Pending ─cancel─▶ Cancelled;  Pending, Processing ─fail─▶ Failed
 */

import { labelOf, OrderType } from '../codes.ts'
import type { ErrorCode } from '../errors.ts'
import { counted } from '../quantity.ts'
import type { OrderAddress, OrderStatus } from './order.ts'

interface Step {
  readonly from: readonly OrderStatus[]
  readonly to: OrderStatus
  /** The only type of order that takes the step; null: both types. */
  readonly type: OrderType | null
}

/** Steps of orders. A shipped or completed order cannot fail any more, because its SIMs are in the estate. */
export const ORDER_STEPS = {
  cancel: { from: ['Pending'], to: 'Cancelled', type: null },
  process: { from: ['Pending'], to: 'Processing', type: null },
  ship: { from: ['Processing'], to: 'Shipped', type: OrderType['Physical SIM'] },
  deliver: { from: ['Shipped'], to: 'Delivered', type: OrderType['Physical SIM'] },
  complete: { from: ['Processing'], to: 'Completed', type: OrderType.eSIM },
  fail: { from: ['Pending', 'Processing'], to: 'Failed', type: null },
} as const satisfies Readonly<Record<string, Step>>
export type OrderStep = keyof typeof ORDER_STEPS

/** The part of an order that decides which steps it may take. */
export interface OrderState {
  readonly type: OrderType
  readonly status: OrderStatus
}

export interface OrderRefusal {
  readonly code: ErrorCode
  /** Predicate that follows the order's name in a message. */
  readonly detail: string
}

const PENDING_ONLY: ReadonlySet<OrderStep> = new Set(['cancel', 'process'])

/** Why an order may not take a step; undefined if it may. */
export function whyNot(step: OrderStep, order: OrderState): OrderRefusal | undefined {
  const { from, type }: Step = ORDER_STEPS[step]
  if (type !== null && type !== order.type) {
    return {
      code: 'order_type_mismatch',
      detail: `is of type ${labelOf(OrderType, order.type)}: "${step}" is for type ${labelOf(OrderType, type)}`,
    }
  }
  if (from.includes(order.status)) return undefined
  return {
    code: PENDING_ONLY.has(step) ? 'order_not_pending' : 'order_state_conflict',
    detail: `is ${order.status}: "${step}" takes one that is ${from.join(' or ')}`,
  }
}

/** Why this number of SIMs does not fulfil an order; undefined if it does. */
export function whyNotSoMany(given: number, quantity: number): OrderRefusal | undefined {
  if (given === quantity) return undefined
  return { code: 'order_quantity_mismatch', detail: `is for ${counted(quantity, 'SIM')}, and ${given} were given` }
}

/**
 * Why nothing can be shipped to an address; undefined if something can. Only the first line is required, because which
 * other lines are needed depends on the country.
 */
export function whyNotThere(address: OrderAddress): OrderRefusal | undefined {
  if ((address.shippingLine1 ?? '').trim() !== '') return undefined
  return { code: 'shipping_address_missing', detail: 'has no shipping address: shippingLine1 is empty' }
}

export const totalMicroOf = (quantity: number, unitPriceMicro: number): number => quantity * unitPriceMicro
