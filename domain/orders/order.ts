/** Orders of SIMs. Source: service document, sections 2.6 and 4.5. Prices are in units of the currency. */
import { type Static, Type } from 'typebox'
import { codeSchema, metadataOf, OrderType } from '../codes.ts'
import { cursorQuery } from '../cursor.ts'
import { ServiceError } from '../errors.ts'
import { codeList, DateFilter, type PageRequest, pageQuery, pageRequest, pageSize } from '../page.ts'
import {
  anyCase,
  Iccid,
  Id,
  Instant,
  Label,
  nullable,
  objectWithExample,
  oneOf,
  optional,
  strictObject,
} from '../schema.ts'

/** Only Pending and Cancelled are in the specification; the others are our own. These are words, not codes. */
export const ORDER_STATUSES = [
  'Pending',
  'Processing',
  'Shipped',
  'Delivered',
  'Completed',
  'Cancelled',
  'Failed',
] as const
export type OrderStatus = (typeof ORDER_STATUSES)[number]

/** Most SIMs of one order. */
export const MOST_ORDERED = 10_000
/** In units of the currency. Multiplied by {@link MOST_ORDERED}, it is still exact in micro-units. */
const PRICE_MAX = 100_000

const text = (description: string) => nullable(Type.String({ maxLength: 1000, description }))
const address = {
  shippingCompany: text('Delivery company name'),
  shippingLine1: text('Address line 1'),
  shippingLine2: text('Address line 2'),
  shippingCity: text('City'),
  shippingCountry: text('Country'),
  shippingPostcode: text('Postcode / ZIP'),
  shippingExtraInfo: text('Delivery instructions'),
}
type AddressField = keyof typeof address
export type OrderAddress = Readonly<Record<AddressField, string | null>>
export const ADDRESS_FIELDS = Object.keys(address).filter((field): field is AddressField => field in address)

/** Address fields of a request. */
const givenAddress = Type.Partial(Type.Object(address)).properties

const Status = oneOf(ORDER_STATUSES, 'Order status: a string, not a code')
const Quantity = Type.Integer({
  minimum: 1,
  maximum: MOST_ORDERED,
  description: `Number of SIMs ordered, 1 to ${MOST_ORDERED}`,
})
const Price = Type.Number({ minimum: 0, maximum: PRICE_MAX, description: 'Price per unit' })

const fields = {
  id: Id('Order id'),
  type: codeSchema(OrderType, 'Order type'),
  quantity: Quantity,
  unitPrice: Type.Number({ description: 'Price per unit at the time of the order' }),
  total: Type.Number({ description: 'Total order cost: quantity × unit price' }),
  status: Status,
  date: Instant('Order date'),
  paymentInvoiceId: nullable(Type.String({ description: 'Payment provider invoice reference' })),
  paymentReceiptUrl: nullable(Type.String({ description: 'Link to the payment provider receipt' })),
  ...address,
  trackingNumber: nullable(Type.String({ description: 'Carrier tracking number' })),
  shippingCarrier: nullable(Type.String({ description: 'Carrier name' })),
}
export const Order = strictObject(fields)
export type Order = Static<typeof Order>

/** An order as the internal interface shows it. */
export const OrderDetail = strictObject({
  ...fields,
  updatedAt: Instant('Time of the last change'),
  failureReason: nullable(Type.String({ description: 'Cause of the failure' })),
  simCount: Type.Integer({ description: 'SIMs created for the order' }),
})
export type OrderDetail = Static<typeof OrderDetail>

export const NewOrder = strictObject({ type: codeSchema(OrderType, 'Order type'), quantity: Quantity, ...givenAddress })
export type NewOrder = Static<typeof NewOrder>

export const OrderResponse = strictObject({
  id: Id('Order id'),
  status: Status,
  cost: Type.Number({ description: 'Total order cost' }),
})
export type OrderResponse = Static<typeof OrderResponse>

export const OrderStatusResponse = strictObject({ id: Id('Order id'), status: Status })
export type OrderStatusResponse = Static<typeof OrderStatusResponse>

export const PricingEntry = strictObject({ type: codeSchema(OrderType, 'Order type'), price: Price })

/** Prices of one owner. A type missing from the list has no price. */
export const OrderPrices = strictObject({
  prices: Type.Array(PricingEntry, { maxItems: Object.keys(OrderType).length, description: 'At most one per type' }),
})
export type OrderPrices = Static<typeof OrderPrices>

export const OrderMetadata = strictObject({ types: codeList('Order types', OrderType) })
export const orderMetadata: Static<typeof OrderMetadata> = { types: metadataOf(OrderType) }

const ORDERS_A_PAGE = 10
export const OrderQuery = Type.Object({
  search: Type.Optional(
    Type.String({
      description: 'Part of the address, tracking number, carrier, status or invoice reference, upper or lower case',
    }),
  ),
  type: Type.Optional(
    Type.String({
      pattern: anyCase(Object.entries(OrderType).flatMap(([label, code]) => [label, `${code}`])),
      description: 'Order type: its code or its label, upper or lower case',
      examples: ['eSIM'],
    }),
  ),
  status: Type.Optional(
    Type.String({
      pattern: anyCase(ORDER_STATUSES),
      description: `Order status, upper or lower case: ${ORDER_STATUSES.join(', ')}`,
      examples: ['pending'],
    }),
  ),
  date: Type.Optional(DateFilter),
  ...pageQuery,
  ...cursorQuery('orders'),
  pageSize: pageSize(ORDERS_A_PAGE),
})
export type OrderQuery = Static<typeof OrderQuery>

/** Filters and page of a list of orders. An undefined filter matches all. */
export interface OrderFilter {
  readonly search: string | undefined
  readonly type: OrderType | undefined
  readonly status: OrderStatus | undefined
  readonly date: string | undefined
  readonly page: PageRequest
  /** In place of the page's number. */
  readonly cursor: string | undefined
}

const same = (a: string, b: string) => a.toLowerCase() === b.toLowerCase()

function wrongFilter(parameter: string, got: string, expected: string): ServiceError {
  const detail = `must be ${expected}`
  return new ServiceError('invalid_request', `${parameter} ${detail}; got '${got}'.`, {
    errors: [{ parameter, detail }],
  })
}

/** Reads the filter of a query. @throws ServiceError invalid_request if type or status is unknown */
export function filterOf({
  search,
  type,
  status,
  date,
  page,
  pageSize = ORDERS_A_PAGE,
  cursor,
}: OrderQuery): OrderFilter {
  const types = Object.entries(OrderType)
  const foundType =
    type === undefined ? undefined : types.find(([label, code]) => same(type, label) || type === `${code}`)
  if (type !== undefined && foundType === undefined) {
    throw wrongFilter('type', type, types.map(([label, code]) => `${code} (${label})`).join(' or '))
  }
  const foundStatus = status === undefined ? undefined : ORDER_STATUSES.find((known) => same(status, known))
  if (status !== undefined && foundStatus === undefined) {
    throw wrongFilter('status', status, `one of ${ORDER_STATUSES.join(', ')}`)
  }
  return {
    search,
    type: foundType?.[1],
    status: foundStatus,
    date,
    page: pageRequest({ pageSize, ...(page === undefined ? {} : { page }) }),
    cursor,
  }
}

const someIccids = (description: string) =>
  optional(Type.Array(Iccid('ICCID'), { minItems: 1, maxItems: MOST_ORDERED, description }))
const someSims = (description: string) =>
  optional(
    Type.Array(Type.Unsafe<unknown>({ description: 'A SIM: iccid and its other known fields' }), {
      minItems: 1,
      maxItems: MOST_ORDERED,
      description,
    }),
  )
const Carrier = (description: string) => Label(description, 'Meadow Post', { minLength: 1, maxLength: 200 })
const Tracking = (description: string) => Label(description, 'MM123456785', { minLength: 1, maxLength: 200 })

/** A shipment, handed to a shipping carrier. Its SIMs are a list of ICCIDs or of records, not both. */
export const Shipment = objectWithExample(
  {
    shippingCarrier: Carrier('Carrier name'),
    trackingNumber: Tracking('Carrier tracking number'),
    ...givenAddress,
    iccids: someIccids('ICCIDs of the SIMs, exactly the quantity of the order'),
    sims: someSims('SIMs with their known fields'),
  },
  {
    shippingCarrier: 'Meadow Post',
    trackingNumber: 'MM123456785',
    iccids: ['8999900000000000018', '8999900000000000026'],
  },
)
export type Shipment = Static<typeof Shipment>

/** Query of a shipment whose SIMs are CSV or NDJSON. */
export const ShipmentQuery = Type.Object({
  shippingCarrier: Type.Optional(Carrier('Carrier name, for a CSV or NDJSON body')),
  trackingNumber: Type.Optional(Tracking('Carrier tracking number, for a CSV or NDJSON body')),
})

/** The profiles of an order: a list of ICCIDs or of records, not both. */
export const Completion = objectWithExample(
  {
    iccids: someIccids('ICCIDs of the profiles, exactly the quantity of the order, if they have no activation codes'),
    sims: someSims('Profiles with their known fields; esimQrPayload is the activation code'),
  },
  {
    sims: [
      { iccid: '8999900000000000018', esimQrPayload: 'LPA:1$smdp.simherd.example$04386-AGYFT-A74Y8-3F815' },
      { iccid: '8999900000000000026', esimQrPayload: 'LPA:1$smdp.simherd.example$04386-AGYFT-A74Y8-3F816' },
    ],
  },
)
export type Completion = Static<typeof Completion>

export type SimsOfOrder = Pick<Completion, 'iccids' | 'sims'>

export const Failure = strictObject({
  reason: Type.String({ minLength: 1, maxLength: 500, description: 'Reason of the failure' }),
})

/** Request to change an order's payment. An omitted field stays unchanged; an empty text removes the value. */
export const OrderPayment = strictObject({
  paymentInvoiceId: optional(Label('Payment provider invoice reference', 'INV-2026-0417', { maxLength: 200 })),
  paymentReceiptUrl: optional(
    Type.String({
      maxLength: 2000,
      pattern: '^(https?://\\S+)?$',
      description: 'Link to the payment provider receipt: http or https',
    }),
  ),
})
export type OrderPayment = Static<typeof OrderPayment>

export const OrderSim = strictObject({ id: Id('SIM id'), iccid: Type.String({ description: 'ICCID' }) })
export type OrderSim = Static<typeof OrderSim>
