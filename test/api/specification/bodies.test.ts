/** Bodies are checked strictly on every changing operation of the service document: 400, and the place of the fault. */
import { describe, expect, test } from 'vitest'
import { aPool, aSim, aTariff, useHarness } from '../harness.ts'
import { NO_TICKET } from './estate.ts'

const harness = useHarness()

const UNSAFE = 2 ** 53
const NO_ID = ['2', 1.5, 0, -1, UNSAFE, 1e300, true, [1], {}]
const WRONG = {
  id: [...NO_ID, null, undefined],
  'id?': NO_ID,
  code: ['2', 'Monitor', 7, -1, 0.5, true, [], null, undefined],
  'order type': ['1', 'eSIM', 0, 3, -1, 1.5, true, [], null, undefined],
  'percent?': ['80', 0, -1, 101, 1.5, true, [], {}],
  'flag?': ['true', 0, 1, [], {}],
  quantity: ['1', 0, -1, 1.5, 10_001, UNSAFE, true, null, undefined],
  'text?': [5, true, ['x'], {}],
  text: [5, true, ['x'], {}, null, undefined],
} as const
type Kind = keyof typeof WRONG

interface Write {
  readonly call: string
  readonly fields: Readonly<Record<string, Kind>>
  /** A valid body, though what its ids name may not exist. */
  readonly body: Readonly<Record<string, unknown>>
}
const ADDRESS = ['Company', 'Line1', 'Line2', 'City', 'Country', 'Postcode', 'ExtraInfo']
const address = Object.fromEntries(ADDRESS.map((part) => [`shipping${part}`, 'text?'] as const))

const WRITES: readonly Write[] = [
  {
    call: 'POST /api/pools',
    fields: {
      name: 'text?',
      type: 'code',
      tariffId: 'id',
      watchdogMode: 'code',
      warningThresholdPct: 'percent?',
      enableBurnRateAlerts: 'flag?',
    },
    body: { type: 0, tariffId: 1, watchdogMode: 1 },
  },
  {
    call: 'PUT /api/pools/1',
    fields: { name: 'text', watchdogMode: 'code', warningThresholdPct: 'percent?', enableBurnRateAlerts: 'flag?' },
    body: { name: 'Fleet', watchdogMode: 1 },
  },
  { call: 'PATCH /api/sims/1/tag', fields: { tag: 'text' }, body: { tag: 'x' } },
  { call: 'POST /api/sims/1/queue-reprovision', fields: { poolId: 'id?', tariffId: 'id?' }, body: { poolId: 1 } },
  { call: 'POST /api/tickets/activate', fields: { simId: 'id' }, body: { simId: 1 } },
  { call: 'POST /api/tickets/suspend', fields: { simId: 'id' }, body: { simId: 1 } },
  { call: 'POST /api/tickets/refresh', fields: { simId: 'id' }, body: { simId: 1 } },
  { call: 'POST /api/tickets/send-sms', fields: { simId: 'id', message: 'text' }, body: { simId: 1, message: 'x' } },
  { call: 'POST /api/tickets/provision', fields: { simId: 'id', poolId: 'id?', tariffId: 'id?' }, body: { simId: 1 } },
  {
    call: 'POST /api/orders',
    fields: { type: 'order type', quantity: 'quantity', ...address },
    body: { type: 1, quantity: 1 },
  },
  { call: 'PATCH /api/tenant/name', fields: { name: 'text' }, body: { name: 'Ours' } },
  { call: 'PATCH /api/tenant/billing-email', fields: { billingEmail: 'text' }, body: { billingEmail: 'a@b.example' } },
]
/** Texts of a wrong length or form. */
const TEXTS: readonly (readonly [call: string, field: string, wrong: readonly string[]])[] = [
  ['POST /api/pools', 'name', ['', 'x'.repeat(51)]],
  ['PUT /api/pools/1', 'name', ['', 'ab', '💧💧', 'x'.repeat(51)]],
  ['PATCH /api/sims/1/tag', 'tag', ['x'.repeat(129), '💧'.repeat(129)]],
  ['POST /api/tickets/send-sms', 'message', ['', 'x'.repeat(1601)]],
  ...Object.keys(address).map((field) => ['POST /api/orders', field, ['x'.repeat(1001)]] as const),
  ['PATCH /api/tenant/name', 'name', ['', 'a', '💧', 'x'.repeat(101)]],
  [
    'PATCH /api/tenant/billing-email',
    'billingEmail',
    [
      '',
      'nobody',
      '@example.com',
      'a@',
      'a b@example.com',
      'a@b@example.com',
      'a@example.com\r\nBcc: all@example.com',
      'Name <a@example.com>',
      'a@example.com, b@example.com',
      `a@${'x'.repeat(260)}.example`,
    ],
  ],
]
const WITHOUT_BODY = [
  'DELETE /api/pools/1',
  'POST /api/sims/1/queue-unprovision',
  `DELETE /api/tickets/${NO_TICKET}`,
  'DELETE /api/orders/1',
]

const send = (call: string, body: unknown, type = 'application/json') => {
  const [method = '', url = ''] = call.split(' ')
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return harness.tenant.ask(method, url, text, { 'content-type': type })
}
const FIELDS = WRITES.flatMap(({ call, fields, body }) =>
  Object.entries(fields).map(([field, kind]) => ({ call, field, kind, body })),
)

describe('a body', () => {
  test.each(FIELDS)('of $call needs $field to be $kind', async ({ call, field, kind, body }) => {
    const texts = TEXTS.find(([of, name]) => of === call && name === field)?.[2] ?? []
    for (const wrong of [...WRONG[kind], ...texts]) {
      const answer = await send(call, { ...body, [field]: wrong })

      expect(answer, JSON.stringify(wrong)).toMatchObject({
        status: 400,
        body: { code: 'invalid_request', errors: [{ pointer: `/${field}`, detail: expect.any(String) }] },
      })
      expect(answer.body.errors).toHaveLength(1)
      expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/)
    }
  })

  test.each(WRITES)('of $call has no unknown field', async ({ call, body }) => {
    for (const unknown of ['colour', 'ID', '']) {
      const answer = await send(call, { ...body, [unknown]: null })
      expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer: `/${unknown}` }] } })
    }
  })

  test.each(WRITES.filter(({ call }) => !call.includes('queue-reprovision')))(
    'of $call names all missing required fields',
    async ({ call, fields }) => {
      const required = Object.keys(fields).filter((field) => !fields[field]?.endsWith('?'))
      const pointers = (body: { errors: { pointer: string }[] }) => body.errors.map(({ pointer }) => pointer).toSorted()

      expect(pointers((await send(call, {})).body)).toEqual(required.map((field) => `/${field}`).toSorted())
      for (const nothing of ['', 'null']) {
        expect(await send(call, nothing)).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
      }
    },
  )

  test.each(WRITES)('of $call is refused if unreadable or no object', async ({ call, body }) => {
    const wrong = [[], 'text', 5, true, [{}], { ...body, x: 'a\u0000b' }, { ...body, x: '\ud800' }]
    for (const text of ['{"a":', '{"__proto__":{"a":1}}', ...wrong.map((each) => JSON.stringify(each))]) {
      expect(await send(call, text)).toMatchObject({ status: 400, body: { code: 'invalid_request', status: 400 } })
    }
  })

  test('treats null as omitted in optional fields', async () => {
    const [poolId, tariffId] = [await aPool(harness.tenant), await aTariff(harness.tenant)]
    const { id: simId } = await aSim(harness.tenant)
    const real: Readonly<Record<string, unknown>> = { tariffId, simId }
    for (const { call, fields, body } of WRITES.filter(({ call }) => !call.includes('/sims/'))) {
      const optional = Object.keys(fields).filter((field) => fields[field]?.endsWith('?'))
      if (optional.length === 0) continue
      const nulls = Object.fromEntries(optional.map((field) => [field, null]))
      const given = Object.entries(body).map(([field, value]) => [field, real[field] ?? value])
      const answer = await send(call.replace('/1', `/${poolId}`), { ...Object.fromEntries(given), ...nulls })

      expect(answer.status, call).toBe(200)
    }
  })
})

describe('a request without a body', () => {
  test.each(WITHOUT_BODY)('%s takes nothing, {} or null of any type', async (call) => {
    for (const nothing of ['', '{}', 'null', ' { } ']) {
      for (const type of ['application/json', 'application/xml', 'text/plain', 'application/x-www-form-urlencoded']) {
        const answer = await send(call, nothing, type)
        expect([200, 204, 404, 409], answer.body.detail).toContain(answer.status)
      }
    }
  })

  test.each(WITHOUT_BODY)('%s refuses any other body', async (call) => {
    for (const wrong of [{ now: true }, [], 0, 'x']) {
      expect(await send(call, JSON.stringify(wrong))).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
    }
  })
})
