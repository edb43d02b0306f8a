/** Words, marks and fields of orders, for their list, pages and forms. */
import { html } from 'hono/html'
import { labelOf, OrderType } from '../../../domain/codes.ts'
import { ADDRESS_FIELDS, type Order, type OrderAddress, type OrderStatus } from '../../../domain/orders/order.ts'
import { count } from '../../../domain/quantity.ts'
import type { Typed } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import type { IconName } from '../../parts/icon.ts'
import { badge } from '../../parts/marks.ts'

const STATUSES: Readonly<Record<OrderStatus, readonly [IconName, string]>> = {
  Pending: ['stock', 'quiet'],
  Processing: ['next', 'quiet'],
  Shipped: ['ship', 'quiet'],
  Delivered: ['active', 'good'],
  Completed: ['active', 'good'],
  Cancelled: ['no', 'quiet'],
  Failed: ['critical', 'critical'],
}
export const orderBadge = ({ status }: Order): Html => {
  const [name, tone] = STATUSES[status]
  return badge(tone, status, name)
}

/** `20 × eSIM` */
export const orderWords = ({ quantity, type }: Order): string => `${count(quantity)} × ${labelOf(OrderType, type)}`

export const ADDRESS_WORDS: Readonly<Record<keyof OrderAddress, string>> = {
  shippingCompany: 'Company',
  shippingLine1: 'Address',
  shippingLine2: 'Second line',
  shippingCity: 'City',
  shippingPostcode: 'Postcode',
  shippingCountry: 'Country',
  shippingExtraInfo: 'Delivery instructions',
}

export const inputField = (name: string, label: string, typed: Typed, most = 200): Html =>
  html`<label>${label} <input name="${name}" value="${typed[name] ?? ''}" maxlength="${most}"></label>`

export const addressFields = (typed: Typed): Html =>
  html`${ADDRESS_FIELDS.map((field) => inputField(field, ADDRESS_WORDS[field], typed, 1000))}`

/** The lines of an address that a person has typed. */
export const addressIn = (typed: Typed): Partial<OrderAddress> =>
  Object.fromEntries(ADDRESS_FIELDS.flatMap((field) => (typed[field] ? [[field, typed[field]]] : [])))
