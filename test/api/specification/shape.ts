/** The fields of the service document's resources (section 2), and a check against them. */
import { expect } from 'vitest'

type Kind = 'integer' | 'number' | 'string' | 'boolean' | 'datetime' | 'uuid'
/** A kind, with `?` if it may be null; a list of the possible codes or words; the fields of an object; or `orNull`. */
type Shape = Kind | `${Kind}?` | readonly (number | string)[] | { readonly [field: string]: Shape } | OrNull
interface OrNull {
  readonly orNull: Shape
}

const orNull = (shape: Shape): OrNull => ({ orNull: shape })
const isOrNull = (shape: object): shape is OrNull => 'orNull' in shape

const KINDS: Record<Kind, (value: unknown) => boolean> = {
  integer: (value) => Number.isSafeInteger(value),
  number: (value) => Number.isFinite(value),
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  datetime: (value) => typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value),
  uuid: (value) => typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value),
}

function faults(value: unknown, shape: Shape, at: string): string[] {
  const fault = [`${at}: ${JSON.stringify(value)} is not ${JSON.stringify(shape)}`]
  if (typeof shape === 'string') {
    const kind = shape.replace('?', '') as Kind
    return (value === null && shape.endsWith('?')) || KINDS[kind](value) ? [] : fault
  }
  if (Array.isArray(shape)) return shape.includes(value) ? [] : fault
  if (isOrNull(shape)) return value === null ? [] : faults(value, shape.orNull, at)
  if (typeof value !== 'object' || value === null) return fault
  const [is, should] = [Object.keys(value).join(), Object.keys(shape).join()]
  if (is !== should) return [`${at}: has the fields ${is}, and should have ${should}`]
  return Object.entries(shape).flatMap(([field, inner]) =>
    faults((value as Record<string, unknown>)[field], inner, `${at}/${field}`),
  )
}

/** Expects exactly the fields of a shape, in its order, each of the right kind. */
export const expectShape = (value: unknown, shape: Shape) => expect(faults(value, shape, '')).toEqual([])

/** Fields in their order, each with its kind or its codes: `id integer, poolId integer?, status 0|1|2`. */
const fields = (text: string): Record<string, Shape> =>
  Object.fromEntries(
    text.split(',').map((field) => {
      const [name = '', kind = ''] = field.trim().split(' ')
      const codes = kind.split('|').map((code) => (/^\d+$/.test(code) ? Number(code) : code))
      return [name, kind.includes('|') ? codes : (kind as Kind)]
    }),
  )

export const PAGINATION = fields(
  'page integer, pageSize integer, totalItems integer, totalPages integer, hasNextPage boolean, hasPreviousPage boolean',
)

/** Expects a page with at least one item, all of one shape. */
export function expectPage(body: { data: unknown[] }, item: Shape) {
  expect(Object.keys(body)).toEqual(['data', 'pagination'])
  expectShape((body as unknown as { pagination: unknown }).pagination, PAGINATION)
  expect(body.data.length).toBeGreaterThan(0)
  for (const each of body.data) expectShape(each, item)
}

export const LOG_ENTRY = fields(
  'id integer, simId integer?, poolId integer?, level 0|1|2, message string, date datetime',
)

export const POOL = {
  ...fields(`
    id integer, name string, type 0|1, watchdogMode 0|1|2, warningThresholdPct integer?, enableBurnRateAlerts boolean?,
    status 0|1, createdAt datetime, updatedAt datetime, activatedAt datetime, activeSimCount integer,
    totalSimCount integer, limitMB number, usageMB number, isOverage boolean, remainingMB number, overageMB number,
    voiceMins number, smsCount integer, tariffId integer`),
  tariff: fields('id integer, displayName string, type 0|1|2'),
  daysUntilRenewal: 'integer',
} satisfies Shape

const BASE_TARIFF = fields(`
  baseTariffBytes integer, baseTariffGb number, simMonthlyFee number, smsFee number, voiceFee number,
  overageFeePerGb number`)
const FIXED_TARIFF = fields(`
  fixedCapacityBytes integer, fixedCapacityGb number, simMonthlyFee number, fixedBucketCost number, smsFee number,
  voiceFee number, overageFeePerGb number`)

export const TARIFF = {
  ...fields('id integer, displayName string, description string, isActive boolean, type 0|1|2'),
  standardTariff: orNull(BASE_TARIFF),
  dynamicPoolTariff: orNull(BASE_TARIFF),
  fixedPoolTariff: orNull(FIXED_TARIFF),
} satisfies Shape

/** A SIM with a governing tariff. */
export const SIM = {
  ...fields(`
    id integer, tag string, iccid string, poolId integer?, tariffId integer?, imsi string, msisdn string, imei string,
    status 0|1|2, updatedAt datetime, provisionedAt datetime?, lastSeenAt datetime?, limitMB number, usageMB number,
    remainingMB number, isOverage boolean, overageMB number, voiceMins number, smsCount integer, type 0|1,
    esimQrPayload string?, esimQrDataUrl string?, pendingPoolId integer?, pendingTariffId integer?,
    pendingUnassign boolean, watchdogMode 0|1|2, isWatchdogExempt boolean, warningThresholdPct integer?,
    enableBurnRateAlerts boolean?, processingTicket boolean, processingTicketCount integer`),
  tariff: TARIFF,
} satisfies Shape
export const SIM_WITHOUT_TARIFF = { ...SIM, tariff: {} } satisfies Shape

export const SIM_SUMMARY = fields(`
  id integer, iccid string, tag string, status 0|1|2, limitMB number, usageMB number, remainingMB number,
  isOverage boolean, overageMB number, watchdogMode 0|1|2, isWatchdogExempt boolean, warningThresholdPct integer?,
  enableBurnRateAlerts boolean?`)

export const TICKET = {
  ...fields('id uuid, simId integer, type 0|1|2|3|4, status 0|1|2|3|4, created datetime'),
  provisioningInfo: orNull(
    fields('pendingPoolId integer?, pendingTariffId integer?, pendingUnassign boolean, pendingTag string?'),
  ),
} satisfies Shape

export const ORDER = fields(`
  id integer, type 1|2, quantity integer, unitPrice number, total number,
  status Pending|Processing|Shipped|Delivered|Completed|Cancelled|Failed, date datetime, paymentInvoiceId string?,
  paymentReceiptUrl string?, shippingCompany string?, shippingLine1 string?, shippingLine2 string?,
  shippingCity string?, shippingCountry string?, shippingPostcode string?, shippingExtraInfo string?,
  trackingNumber string?, shippingCarrier string?`)

export const TENANT = fields('id string, name string, billingEmail string')

export const EVENT = fields('id integer, type 0|1|2, severity 0|1|2, title string, description string, date datetime')

/** Expects the labels of codes that a metadata endpoint sends, under these keys in this order, and no others. */
export function expectLabels(
  { status, body }: { readonly status: number; readonly body: object },
  labels: Readonly<Record<string, Readonly<Record<number, string>>>>,
) {
  const codes = (of: Readonly<Record<number, string>>) =>
    Object.entries(of).map(([code, description]) => ({ code: Number(code), description }))
  expect(status).toBe(200)
  expect(Object.entries(body)).toEqual(Object.entries(labels).map(([key, of]) => [key, codes(of)]))
}
