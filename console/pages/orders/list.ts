/** Orders of a tenant, newest first, and the prices of new ones. */
import { html } from 'hono/html'
import { type Static, Type } from 'typebox'
import { labelOf, OrderType } from '../../../domain/codes.ts'
import { ORDER_STATUSES, Order, OrderQuery } from '../../../domain/orders/order.ts'
import { counted, price } from '../../../domain/quantity.ts'
import { dataOf, mustAnswer, tryAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import { actLinks } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { ANY, choices, isUnfiltered, nextCursor, pager } from '../../parts/list.ts'
import { ago, facts, panel } from '../../parts/marks.ts'
import { readCurrency } from '../../prices.ts'
import { orderBadge, orderWords } from './marks.ts'
import { CHANGE_PRICES, NEW_ORDER } from './new.ts'

const { search, cursor } = OrderQuery.properties
export const OrdersQuery = Type.Object({ search, status: Type.Optional(Order.properties.status), cursor })
export type OrdersQuery = Static<typeof OrdersQuery>

const MOST_ROWS = 50

/** @param path of the list @param said notice of an act just before */
export async function ordersPage(
  calls: Calls,
  path: string,
  query: OrdersQuery,
  { now, said }: { readonly now: number; readonly said: Html | '' },
): Promise<Html> {
  const listing = calls.outside.GET('/api/orders', { params: { query: { ...query, pageSize: MOST_ROWS } } })
  const [{ data, pagination }, prices, own, currency] = await Promise.all([
    mustAnswer(listing),
    mustAnswer(calls.outside.GET('/api/orders/pricing')),
    tryAnswer(calls.inside.GET('/internal/order-prices')),
    readCurrency(calls),
  ])
  const row = (order: Order) => html`<tr id="order-${order.id}">
<th scope="row"><a href="${path}/${order.id}">Order ${order.id}</a><small>${orderWords(order)}</small></th>
<td>${orderBadge(order)}</td>
<td class="number">${price(order.total, currency)}</td>
<td class="wide">${ago(order.date, now)}</td>
</tr>`
  const ownTypes = dataOf(own)?.prices.map(({ type }) => type)
  const priceRows = prices.map(({ type, price: units }) => {
    const owner = ownTypes === undefined ? '' : ownTypes.includes(type) ? ", the tenant's own" : ", the platform's"
    return [labelOf(OrderType, type), `${price(units, currency)}${owner}`] as const
  })
  return html`<div class="head"><h1>Orders</h1>
${actLinks(path, [NEW_ORDER])}
</div>
${said}
<form class="filters" method="get" action="${path}" role="search">
${choices({ name: 'status', label: 'Status', value: query.status }, [ANY, ...ORDER_STATUSES.map((one) => [one, one] as const)])}
<label class="long">Address, tracking number, invoice <input type="search" name="search" value="${query.search ?? ''}" maxlength="300"></label>
<button type="submit">Show</button>
<span class="mute">${counted(pagination.totalItems, 'order')}</span>
</form>
${
  data.length === 0
    ? html`<p class="empty">${isUnfiltered(query) ? html`No order yet. <em>New order</em> places one.` : 'No order matches.'}</p>`
    : html`<div class="panel"><table>
<thead><tr><th scope="col">Order</th><th scope="col">Status</th><th scope="col" class="number">Total</th><th scope="col" class="wide">Placed</th></tr></thead>
<tbody>
${data.map(row)}
</tbody>
</table></div>`
}
${pager(path, query, nextCursor((await listing).response))}
${panel({ title: 'Prices', id: 'prices', note: 'of one SIM, for new orders' }, [
  prices.length === 0 ? html`<p class="empty">None: nothing can be ordered.</p>` : facts(priceRows),
  html`${own === null ? '' : actLinks(path, [CHANGE_PRICES])}`,
])}`
}
