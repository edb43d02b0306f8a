/** The page of an order: price, payment, delivery, and its SIMs. */
import { html } from 'hono/html'
import { ADDRESS_FIELDS, type Order } from '../../../domain/orders/order.ts'
import { counted, price } from '../../../domain/quantity.ts'
import { dataOf, tryAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import { actLinks } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { nextPage } from '../../parts/list.ts'
import { facts, grouped, instantMark, line, notice, panel, panelOf } from '../../parts/marks.ts'
import { readCurrency } from '../../prices.ts'
import { actsOn, askDetail, paymentOf } from './acts.ts'
import { ADDRESS_WORDS, orderBadge, orderWords } from './marks.ts'

const MOST_SIMS = 50

/** @param tenant path of the tenant @param page of its SIMs @param said notice of an act just before */
export async function orderPage(
  calls: Calls,
  tenant: string,
  order: Order,
  { page, said }: { readonly page: number; readonly said: Html | '' },
): Promise<Html> {
  const params = { path: { orderId: order.id }, query: { page, pageSize: MOST_SIMS } }
  const [detail, sims, currency] = await Promise.all([
    tryAnswer(askDetail(calls, order.id)),
    tryAnswer(calls.inside.GET('/internal/orders/{orderId}/sims', { params })),
    readCurrency(calls),
  ])
  const path = `${tenant}/orders/${order.id}`
  const reason = dataOf(detail)?.failureReason ?? null
  const known = [
    ['Carrier', order.shippingCarrier] as const,
    ['Tracking number', order.trackingNumber] as const,
    ...ADDRESS_FIELDS.map((field) => [ADDRESS_WORDS[field], order[field]] as const),
  ]
  return html`<div class="head">
<div>
<p class="crumbs"><a href="${tenant}/orders">Orders</a></p>
<h1>Order ${order.id} ${orderBadge(order)}</h1>
<p class="lead">${orderWords(order)}, ${price(order.total, currency)}</p>
</div>
${actLinks(path, actsOn(order, detail !== null))}
</div>
${said}
${reason === null ? '' : notice('critical', 'critical', html`<strong>It has failed.</strong> <bdi>${reason}</bdi>`)}
<div class="columns">
<div>
${panelOf(
  { title: 'SIMs', id: 'sims', note: 'that came with it' },
  sims,
  ({ data, pagination }) => html`<p>${counted(pagination.totalItems, 'SIM')}</p>
<ul class="log">
${data.map(({ id, iccid }) => line('sim', html`<a href="${tenant}/sims/${id}">${grouped(iccid)}</a>`))}
</ul>
${nextPage(path, {}, pagination)}`,
)}
</div>
<div>
${panel(
  { title: 'Order', id: 'order' },
  facts([
    ['Placed', instantMark(order.date)],
    ['Price', `${price(order.unitPrice, currency)} each`],
    ['Total', price(order.total, currency)],
    ...paymentOf(order),
    ...known.flatMap(([name, value]) => (value === null ? [] : [[name, html`<bdi>${value}</bdi>`] as const])),
  ]),
)}
</div>
</div>`
}
