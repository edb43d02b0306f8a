/**
 * Steps of an order. Here are those that change only the order: cancel, process, deliver, fail, one transaction each;
 * and the parts common to all steps.
 */
import { EventSeverity, EventType, labelOf, OrderType } from '../../domain/codes.ts'
import { ServiceError } from '../../domain/errors.ts'
import { ORDER_STEPS, type OrderRefusal, type OrderStep, whyNot } from '../../domain/orders/decisions.ts'
import type { OrderStatus, OrderStatusResponse } from '../../domain/orders/order.ts'
import { noteChange } from '../../store/audit.ts'
import { insertEvent } from '../../store/events.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { lockOrder, type OrderRecord, writeOrder } from './rows/orders.ts'

/** The fields of an order that a step may change besides its status. */
export type OrderChange = Partial<Omit<OrderRecord, 'id' | 'status' | 'version' | 'createdAt' | 'updatedAt'>>

/** Throws the refusal, if there is one. @throws ServiceError with the code of the refusal */
export function mustBeAllowed(orderId: number, refusal: OrderRefusal | undefined): void {
  if (refusal !== undefined) throw new ServiceError(refusal.code, `Order ${orderId} ${refusal.detail}.`)
}

/**
 * Locks an order that may take a step. Of several concurrent callers one gets it; the others then see its new status.
 *
 * @throws ServiceError `order_not_found`, `order_type_mismatch`, `order_not_pending`, `order_state_conflict`
 */
export async function orderFor(tx: TenantTx, id: number, step: OrderStep): Promise<OrderRecord> {
  const order = await lockOrder(tx, id)
  mustBeAllowed(id, whyNot(step, order))
  return order
}

const WORDS: Readonly<Record<OrderStatus, string>> = {
  Pending: 'was placed',
  Processing: 'is being processed',
  Shipped: 'was shipped',
  Delivered: 'was delivered',
  Completed: 'is complete',
  Cancelled: 'was cancelled',
  Failed: 'has failed',
}

/** Writes the Billing event of an order's new status. A failed order is a Warning. */
export async function recordOrderEvent(tx: TenantTx, order: OrderRecord): Promise<void> {
  const { id, type, quantity, status, shippingCarrier, trackingNumber, failureReason } = order
  const how = {
    Shipped: ` with ${shippingCarrier}, tracking number ${trackingNumber}`,
    Failed: `: ${failureReason}`,
  }
  const more = status === 'Shipped' || status === 'Failed' ? how[status] : ''
  await insertEvent(tx, {
    type: EventType.Billing,
    severity: status === 'Failed' ? EventSeverity.Warning : EventSeverity.Info,
    title: `Order ${id} ${WORDS[status]}`,
    description: `Order ${id}, ${quantity} × ${labelOf(OrderType, type)}, ${WORDS[status]}${more}.`,
  })
}

/**
 * Takes a step of an order that `orderFor` has locked. Writes the order, its event, and the audit entry.
 *
 * @param change other fields of the order that change with the step
 */
export async function takeStep(
  tx: TenantTx,
  order: OrderRecord,
  step: OrderStep,
  change: OrderChange = {},
): Promise<OrderStatusResponse> {
  const after = { ...order, ...change, status: ORDER_STEPS[step].to }
  await writeOrder(tx, after)
  await recordOrderEvent(tx, after)
  await noteOrder(tx, order, after)
  return { id: order.id, status: after.status }
}

/** Writes an audit entry with the changed fields of an order. */
export async function noteOrder(tx: TenantTx, order: OrderRecord, after: OrderRecord): Promise<void> {
  const valuesOf = (record: OrderRecord) => {
    const { version: _version, createdAt: _createdAt, updatedAt: _updatedAt, ...values } = record
    return Object.entries(values)
  }
  const others = new Map(valuesOf(after))
  const changed = valuesOf(order).filter(([name, value]) => others.get(name) !== value)
  await noteChange(tx, {
    subject: 'order',
    id: order.id,
    before: Object.fromEntries(changed),
    after: Object.fromEntries(changed.map(([name]) => [name, others.get(name)])),
  })
}

const simpleStep = (step: OrderStep) => async (tx: TenantTx, id: number) =>
  takeStep(tx, await orderFor(tx, id, step), step)

/** Cancels a Pending order. @throws ServiceError `order_not_found`, `order_not_pending` */
export const cancelOrder = simpleStep('cancel')

/**
 * Begins to fulfil an order. From then on it cannot be cancelled.
 *
 * @throws ServiceError `order_not_found`, `order_not_pending`
 */
export const processOrder = simpleStep('process')

/**
 * Records that a shipment has arrived.
 *
 * @throws ServiceError `order_not_found`, `order_type_mismatch`, `order_state_conflict`
 */
export const deliverOrder = simpleStep('deliver')

/** Marks a Pending or Processing order as Failed. @throws ServiceError `order_not_found`, `order_state_conflict` */
export const failOrder = async (tx: TenantTx, id: number, failureReason: string): Promise<OrderStatusResponse> =>
  takeStep(tx, await orderFor(tx, id, 'fail'), 'fail', { failureReason })
