import type { OrderPayment, OrderStatusResponse } from '../../domain/orders/order.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { lockOrder, writeOrder } from './rows/orders.ts'
import { noteOrder } from './steps.ts'

/**
 * Sets an order's invoice and receipt, in any status. An omitted field stays; an empty text clears it.
 *
 * @throws ServiceError `order_not_found`
 */
export async function setOrderPayment(tx: TenantTx, id: number, payment: OrderPayment): Promise<OrderStatusResponse> {
  const order = await lockOrder(tx, id)
  const after = {
    ...order,
    paymentInvoiceId: given(payment.paymentInvoiceId, order.paymentInvoiceId),
    paymentReceiptUrl: given(payment.paymentReceiptUrl, order.paymentReceiptUrl),
  }
  const changed =
    after.paymentInvoiceId !== order.paymentInvoiceId || after.paymentReceiptUrl !== order.paymentReceiptUrl
  if (changed) {
    await writeOrder(tx, after)
    await noteOrder(tx, order, after)
  }
  return { id, status: order.status }
}

const given = (value: string | null | undefined, known: string | null) => (value == null ? known : value || null)
