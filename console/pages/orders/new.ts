/** A new order, and the prices of new orders. */
import { html } from 'hono/html'
import { labelOf, OrderType } from '../../../domain/codes.ts'
import { ServiceError } from '../../../domain/errors.ts'
import { MOST_ORDERED, type OrderPrices, type OrderResponse } from '../../../domain/orders/order.ts'
import { price } from '../../../domain/quantity.ts'
import { mustAnswer } from '../../answers.ts'
import { type Act, numberField, readNumber } from '../../parts/form.ts'
import { choices } from '../../parts/list.ts'
import { PRICE, readCurrency } from '../../prices.ts'
import { addressFields, addressIn } from './marks.ts'

type Prices = OrderPrices['prices']
interface Priced {
  readonly prices: Prices
  readonly currency: string
}
const QUANTITY = { from: 1, to: MOST_ORDERED, isRequired: true } as const

/** `eSIM, EUR 1.00 each` */
const priceWords = ({ type, price: units }: Prices[number], currency: string): string =>
  `${labelOf(OrderType, type)}, ${price(units, currency)} each`

export const NEW_ORDER: Act<Priced, undefined, OrderResponse> = {
  noun: 'orders',
  name: 'new',
  isOfAll: true,
  label: 'New order',
  icon: 'add',
  tone: 'first',
  read: async (calls) => ({
    prices: await mustAnswer(calls.outside.GET('/api/orders/pricing')),
    currency: await readCurrency(calls),
  }),
  confirm: ({ prices, currency }) => ({
    of: 'Orders',
    question: 'Order SIMs?',
    button: 'Order',
    facts: [
      ['Then', 'The order is Pending. Its price stays that of now.'],
      ['Taken back', html`By <em>Cancel the order</em>, on its page, until it is processed.`],
    ],
    ...(prices.length === 0 && { warning: 'No type has a price: nothing can be ordered.', isIdle: true }),
    fields: (typed) => html`${choices(
      { name: 'type', label: 'Type', value: typed['type'] },
      prices.map((one) => [one.type, priceWords(one, currency)] as const),
    )}
${numberField({ name: 'quantity', label: 'How many', ...QUANTITY }, typed)}
<p class="mute">Physical SIMs are shipped to this address. The shipment can give it, too.</p>
${addressFields(typed)}`,
  }),
  send: ({ outside }, { prices }, typed, params) => {
    const type = prices.find((one) => String(one.type) === typed['type'])?.type
    if (type === undefined) throw new ServiceError('order_type_unavailable', 'Choose a type that has a price.')
    const body = { type, quantity: readNumber(typed, 'quantity', QUANTITY), ...addressIn(typed) }
    return outside.POST('/api/orders', { params, body })
  },
  next: ({ id }) => `orders/${id}`,
  done: 'It is placed.',
}

/** Prices as a text, to compare them. */
const asText = (prices: Prices): string => prices.map((one) => `${one.type}:${one.price}`).join(' ')

/** On the tenant's own prices. */
export const CHANGE_PRICES: Act<Priced, undefined> = {
  noun: 'orders',
  name: 'prices',
  isOfAll: true,
  label: 'Change prices',
  icon: 'settings',
  read: async (calls) => ({
    ...(await mustAnswer(calls.inside.GET('/internal/order-prices'))),
    currency: await readCurrency(calls),
  }),
  confirm: ({ prices: own, currency }) => ({
    of: 'Orders',
    question: 'Change the prices of new orders?',
    facts: [
      ['Own prices', own.map((one) => priceWords(one, currency)).join('; ') || 'none'],
      ['Then', "New orders have these prices, and the platform's where a field is empty. Older orders keep theirs."],
      ['Taken back', 'By changing them again. The audit trail has what they were.'],
    ],
    fields: (typed) => html`<input type="hidden" name="seen" value="${asText(own)}">
${Object.entries(OrderType).map(([label, type]) =>
  numberField(
    { name: `price-${type}`, label: `${label}, in ${currency}`, ...PRICE },
    typed,
    own.find((one) => one.type === type)?.price,
  ),
)}`,
  }),
  send: async ({ inside }, { prices: own }, typed) => {
    const prices = Object.values(OrderType).flatMap((type) => {
      const units = readNumber(typed, `price-${type}`, { ...PRICE, isRequired: false })
      return units === null ? [] : [{ type, price: units }]
    })
    // A form that is sent again has had its effect.
    if (asText(prices) === asText(own)) return inside.GET('/internal/order-prices')
    if (typed['seen'] !== asText(own)) throw new ServiceError('precondition_failed', 'The prices have changed.')
    return inside.PUT('/internal/order-prices', { body: { prices } })
  },
  done: 'The prices are changed, for new orders.',
}
