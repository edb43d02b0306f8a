/** Makes examples from schemas: a schema's first example, or one built from its parts, with text chosen by name. */
import { isObject, type Json, type JsonObject } from './json.ts'

/** Example texts by name of field or parameter. A name means the same wherever it appears. */
const WORDS: Readonly<Record<string, string>> = {
  // SIMs and their identifiers
  iccid: '8999900000000000017',
  iccids: '8999900000000000017',
  idOrIccid: '8999900000000000017',
  imsi: '001010000000017',
  msisdn: '+999500000017',
  imei: '004999010640000',
  tag: 'meter 17',
  message: 'reboot',
  poolName: 'Household meters',
  // Orders
  trackingNumber: 'MM123456785',
  shippingCarrier: 'Meadow Post',
  shippingCompany: 'Meadow Metering Ltd',
  shippingLine1: '17 Mill Lane',
  shippingLine2: 'Unit 4',
  shippingCity: 'Ashford',
  shippingCountry: 'United Kingdom',
  shippingPostcode: 'TN23 1PP',
  shippingExtraInfo: 'Ring at the gate.',
  paymentInvoiceId: 'in_2026_0117',
  paymentReceiptUrl: 'https://pay.example/receipts/2026-0117',
  failureReason: 'The card profile is not made any more.',
  reason: 'The card profile is not made any more.',
  // Cycles, rules and workflows
  key: '2026-11',
  cycle: '2026-11',
  rule: 'sim-overage',
  file: 'sim/sim-overage.json',
  ruleFile: 'sim/sim-overage.json',
  text: '{ "name": "sim-overage" }',
  author: 'operations@meadow.example',
  grace: 'PT4H',
  workflowId: 'suspend-on-overage:tf622080bc0a0:1:2026-11',
  runId: '0192f4c1-9a11-7c0e-8e44-51d2b8d4c0b2',
  type: 'suspend-on-overage',
  scheduleId: 'month-end-timer:tf622080bc0a0',
  note: 'paused by the internal interface',
  // Usage
  recordId: 'cdr-20261120-000017',
  at: '2026-11-20T11:58:07Z',
  // Mail, keys and the audit trail
  recipient: 'billing@meadow.example',
  subject: 'Pool Household meters at 80 %',
  response: '250 2.0.0 Ok',
  keys: 'pool-usage-warning:pool:1:2026-11 firing',
  keyId: '6a34354728b4',
  subjectId: '1',
  requestId: '5c2f0b1e-0d0f-4c53-9d0e-3d1b6c6d9a10',
  action: 'updatePool',
  ticketId: '0192f4c1-7d3a-7b52-9c55-2f6f1d0c8a11',
  // Failures and states in words
  code: 'sim_not_found',
  failureCode: 'carrier_unavailable',
  failureText: 'the carrier cannot do it just now',
  failureDetail: 'The carrier could not do it now (503): maintenance: until noon',
  detail: 'There is no SIM 99.',
  step: 'activate',
  activityId: '7',
  level: 'Warning',
  field: 'iccid',
  status: 'Pending',
  name: 'postgresql',
  search: 'meter',
}

/** Examples by format, for a field without its own. */
const OF_FORMAT: Readonly<Record<string, string>> = {
  'date-time': '2026-11-20T12:00:00.000Z',
  date: '2026-11-20',
  email: 'billing@meadow.example',
  uuid: '0192f4c1-7d3a-7b52-9c55-2f6f1d0c8a11',
}

/**
 * Makes an example that fits a schema. @param name of the field or parameter @returns undefined if a required part of
 * the schema says too little
 */
export function exampleOf(schema: Json | undefined, name = ''): Json | undefined {
  if (!isObject(schema)) return undefined
  const { anyOf, ...rest } = schema
  const { examples, enum: codes, const: only, properties, items } = rest
  if (Array.isArray(examples)) return examples[0]
  if (only !== undefined) return only
  if (schema.default !== undefined) return schema.default
  if (Array.isArray(codes)) return codes[0]
  if (Array.isArray(anyOf)) return isObject(anyOf[0]) ? exampleOf({ ...rest, ...anyOf[0] }, name) : undefined
  switch (typeOf(schema)) {
    case 'object':
      return isObject(properties) ? ofProperties(properties, schema.required) : {}
    case 'array': {
      const item = exampleOf(items, name)
      return item === undefined ? undefined : [item]
    }
    case 'string':
      return typeof schema.format === 'string' ? OF_FORMAT[schema.format] : WORDS[name]
    case 'integer':
    case 'number':
      return typeof schema.minimum === 'number' ? schema.minimum : 0
    case 'boolean':
      return false
    case undefined:
      // Anything fits.
      return null
    default:
      return undefined
  }
}

/** The example of an optional parameter. The page at /docs shows it, but leaves it out of the request that it shows. */
export const sparedExample = (value: Json): JsonObject => ({ example: { value, 'x-disabled': true } })

function typeOf({ type }: JsonObject): string | undefined {
  const first = Array.isArray(type) ? type[0] : type
  return typeof first === 'string' ? first : undefined
}

/** All fields that have an example. Returns undefined if a required field has none. */
function ofProperties(properties: JsonObject, required: Json | undefined): JsonObject | undefined {
  const fields = Object.entries(properties).map(([name, field]) => [name, exampleOf(field, name)] as const)
  const isRequired = (name: string) => Array.isArray(required) && required.includes(name)
  if (fields.some(([name, value]) => value === undefined && isRequired(name))) return undefined
  return Object.fromEntries(fields.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
}
