/**
 * What may be done with an order, and why not. Pure.
 *
 *   Physical SIM  Pending ─process─▶ Processing ─ship─▶ Shipped ─deliver─▶ Delivered
 *   eSIM          Pending ─process─▶ Processing ─complete─▶ Completed
 *   both          Pending ─cancel─▶ Cancelled;  Pending, Processing ─fail─▶ Failed
 */
import { labelOf, OrderType } from '../codes.ts'
import type { ErrorCode } from '../errors.ts'
import type { Address, OrderStatus } from './order.ts'

interface Step {
  readonly from: readonly OrderStatus[]
  readonly to: OrderStatus
  /** The only type it is for; null: both. */
  readonly type: OrderType | null
}

/** What has left the house cannot fail any more: its SIMs are in the estate. */
export const ORDER_STEPS = {
  cancel: { from: ['Pending'], to: 'Cancelled', type: null },
  process: { from: ['Pending'], to: 'Processing', type: null },
  ship: { from: ['Processing'], to: 'Shipped', type: OrderType['Physical SIM'] },
  deliver: { from: ['Shipped'], to: 'Delivered', type: OrderType['Physical SIM'] },
  complete: { from: ['Processing'], to: 'Completed', type: OrderType.eSIM },
  fail: { from: ['Pending', 'Processing'], to: 'Failed', type: null },
} as const satisfies Readonly<Record<string, Step>>
export type OrderStep = keyof typeof ORDER_STEPS

/** The part of an order that decides. */
export interface OrderState {
  readonly type: OrderType
  readonly status: OrderStatus
}

export interface Refusal {
  readonly code: ErrorCode
  /** Goes on after the order's name. */
  readonly detail: string
}

const PENDING_ONLY: ReadonlySet<OrderStep> = new Set(['cancel', 'process'])

/** Why an order may not take a step; undefined: it may. */
export function whyNot(step: OrderStep, order: OrderState): Refusal | undefined {
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

/** Why so many SIMs do not fulfil an order; undefined: they do. */
export function whyNotSoMany(given: number, quantity: number): Refusal | undefined {
  if (given === quantity) return undefined
  return { code: 'order_quantity_mismatch', detail: `is for ${quantity} SIM(s), and ${given} were given` }
}

/**
 * Why nothing can be sent there; undefined: it can. A first line is all that is asked of an address: which of the
 * others a country has is for people to know.
 */
export function whyNotThere(address: Address): Refusal | undefined {
  if ((address.shippingLine1 ?? '').trim() !== '') return undefined
  return { code: 'shipping_address_missing', detail: 'has no shipping address: shippingLine1 is empty' }
}

/** Cost of an order in micro-units. */
export const totalMicroOf = (quantity: number, unitPriceMicro: number): number => quantity * unitPriceMicro
