/** Service document, sections 4.5, 2.6 and 3. */
import { beforeAll, describe, expect, test } from 'vitest'
import { aSim, NOON, type Tenant, useHarness } from '../harness.ts'
import { expectLabels, expectPage, expectShape, ORDER } from './shape.ts'

const harness = useHarness()

const ADDRESS = {
  shippingCompany: 'Meadow Ltd',
  shippingLine1: '1 Meadow Lane',
  shippingLine2: 'Barn 4',
  shippingCity: 'Ghent',
  shippingCountry: 'Belgium',
  shippingPostcode: '9000',
  shippingExtraInfo: 'Ring twice',
}

const placed = async (tenant: Tenant, over: Record<string, unknown> = {}): Promise<number> => {
  const { body } = await tenant.ask('POST', '/api/orders', { type: 1, quantity: 3, ...over })
  return body.id
}
const titles = async (tenant: Tenant): Promise<string[]> => {
  const { body } = await tenant.ask('GET', '/api/events?type=1')
  return body.data.map(({ title }: { title: string }) => title)
}

describe('POST /api/orders', () => {
  test('4.5 POST /api/orders: answers id, status and cost only', async () => {
    const { status, body } = await harness.tenant.ask('POST', '/api/orders', { type: 1, quantity: 3, ...ADDRESS })

    expect(status).toBe(200)
    expect(body).toEqual({ id: expect.any(Number), status: 'Pending', cost: 7.5 })
    expect(await titles(harness.tenant)).toContain(`Order ${body.id} was placed`)
  })

  test.each([1, 10_000])('4.5 POST /api/orders: accepts a quantity of %i', async (quantity) => {
    const answer = await harness.tenant.ask('POST', '/api/orders', { type: 2, quantity })

    expect(answer).toMatchObject({ status: 200, body: { cost: quantity } })
  })

  test('4.5 POST /api/orders: keeps the price at the time of ordering', async () => {
    const id = await placed(harness.tenant, { type: 2, quantity: 7 })

    await harness.tenant.inside('PUT', '/internal/order-prices', { prices: [{ type: 2, price: 0.1 }] })
    const later = await harness.tenant.ask('POST', '/api/orders', { type: 2, quantity: 7 })
    await harness.tenant.inside('PUT', '/internal/order-prices', { prices: [] })

    const { body } = await harness.tenant.ask('GET', `/api/orders/${id}`)
    expect(body).toMatchObject({ unitPrice: 1, total: 7 })
    expect(later.body.cost).toBe(0.7)
  })
})

describe('GET /api/orders/{orderId}', () => {
  test('4.5 GET /api/orders/{orderId} + 2.6 Order: has exactly its fields in their order', async () => {
    const id = await placed(harness.tenant, ADDRESS)

    const { status, body } = await harness.tenant.ask('GET', `/api/orders/${id}`)

    expect(status).toBe(200)
    expectShape(body, ORDER)
    expect(body).toEqual({
      id,
      type: 1,
      quantity: 3,
      unitPrice: 2.5,
      total: 7.5,
      status: 'Pending',
      date: new Date(NOON).toISOString(),
      paymentInvoiceId: null,
      paymentReceiptUrl: null,
      ...ADDRESS,
      trackingNumber: null,
      shippingCarrier: null,
    })
  })

  test('4.5 GET /api/orders/{orderId} + 2.6 Order: shows how it was paid and shipped', async () => {
    const id = await placed(harness.tenant, { quantity: 1, ...ADDRESS })
    const was = (await harness.tenant.ask('GET', `/api/orders/${id}`)).body
    const payment = { paymentInvoiceId: 'INV-7', paymentReceiptUrl: 'https://pay.example/r/7' }
    const parcel = { shippingCarrier: 'Pigeon Post', trackingNumber: 'PP-7' }

    await harness.tenant.inside('PATCH', `/internal/orders/${id}`, payment)
    await harness.tenant.inside('POST', `/internal/orders/${id}/process`)
    await harness.tenant.inside('POST', `/internal/orders/${id}/ship`, { ...parcel, iccids: ['8944500102700000077'] })

    const { body } = await harness.tenant.ask('GET', `/api/orders/${id}`)
    expectShape(body, ORDER)
    expect(body).toEqual({ ...was, ...payment, ...parcel, status: 'Shipped' })
  })

  test('4.5 GET /api/orders/{orderId}: shows the address as given, else null', async () => {
    const nothing = Object.fromEntries(Object.keys(ADDRESS).map((field) => [field, null]))
    const without = await placed(harness.tenant, nothing)
    const oddly = { shippingLine1: '  é%_\\ "x"\n', shippingCountry: '' }
    const odd = await placed(harness.tenant, oddly)

    expect((await harness.tenant.ask('GET', `/api/orders/${without}`)).body).toMatchObject(nothing)
    expect((await harness.tenant.ask('GET', `/api/orders/${odd}`)).body).toMatchObject(oddly)
  })
})

describe('DELETE /api/orders/{orderId}', () => {
  test('4.5 DELETE /api/orders/{orderId} + 3 Order Pending: cancels a pending order once, with an event', async () => {
    const id = await placed(harness.tenant)

    const cancelled = await harness.tenant.ask('DELETE', `/api/orders/${id}`)
    const again = await harness.tenant.ask('DELETE', `/api/orders/${id}`)

    expect(cancelled.status).toBe(200)
    expect(cancelled.body).toEqual({ id, status: 'Cancelled' })
    expect(again).toMatchObject({ status: 409, body: { code: 'order_not_pending' } })
    expect((await harness.tenant.ask('GET', `/api/orders/${id}`)).body.status).toBe('Cancelled')
    expect((await titles(harness.tenant)).filter((title) => title === `Order ${id} was cancelled`)).toHaveLength(1)
  })

  test('4.5 DELETE /api/orders/{orderId}: cancels once under three requests at once', async () => {
    const id = await placed(harness.tenant)

    const answers = await Promise.all([1, 2, 3].map(() => harness.tenant.ask('DELETE', `/api/orders/${id}`)))

    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409])
    expect((await titles(harness.tenant)).filter((title) => title === `Order ${id} was cancelled`)).toHaveLength(1)
  })

  test('3 Order Pending: keeps processing and failed orders, 409', async () => {
    const id = await placed(harness.tenant)
    for (const [step, body, status] of [
      ['process', undefined, 'Processing'],
      ['fail', { reason: 'sold out' }, 'Failed'],
    ] as const) {
      expect((await harness.tenant.inside('POST', `/internal/orders/${id}/${step}`, body)).status).toBe(200)
      const answer = await harness.tenant.ask('DELETE', `/api/orders/${id}`)

      expect(answer).toMatchObject({ status: 409, body: { code: 'order_not_pending' } })
      expect((await harness.tenant.ask('GET', `/api/orders/${id}`)).body.status).toBe(status)
    }
  })

  test('4.5 DELETE /api/orders/{orderId} + 3 Order Pending: races with processing: one of them wins', async () => {
    for (let round = 0; round < 10; round++) {
      const id = await placed(harness.tenant)

      const [cancel, process] = await Promise.all([
        harness.tenant.ask('DELETE', `/api/orders/${id}`),
        harness.tenant.inside('POST', `/internal/orders/${id}/process`),
      ])

      expect([cancel.status, process.status].toSorted()).toEqual([200, 409])
      const { body } = await harness.tenant.ask('GET', `/api/orders/${id}`)
      expect(body.status).toBe(cancel.status === 200 ? 'Cancelled' : 'Processing')
    }
  })
})

describe('GET /api/orders', () => {
  /** The other tenant's orders, by name. */
  const ids: Record<string, number> = {}
  const inside = (path: string, body?: unknown) => harness.other.inside('POST', `/internal/orders/${path}`, body)
  beforeAll(async () => {
    const at = async (name: string, instant: number, over: Record<string, unknown>) => {
      ids[name] = await harness.at(instant, () => placed(harness.other, { quantity: 1, ...over }))
    }
    const address = { shippingLine1: '100%_sure\\', shippingCompany: 'Acme', shippingPostcode: 'N1 9GU' }
    await at('first', NOON - 24 * 3_600_000, address)
    await at('second', NOON, { type: 2, shippingLine2: 'Barn', shippingCity: 'Lyon', shippingExtraInfo: 'at the Gate' })
    await at('third', NOON, { shippingLine1: 'Meadow', shippingCountry: 'France' })
    await harness.other.ask('DELETE', `/api/orders/${ids.first}`)
    await inside(`${ids.third}/process`)
    const parcel = { shippingCarrier: 'Pigeon Post', trackingNumber: 'PP-0815' }
    await inside(`${ids.third}/ship`, { ...parcel, iccids: ['8944500102700000001'] })
    await harness.other.inside('PATCH', `/internal/orders/${ids.second}`, { paymentInvoiceId: 'INV-ABC' })
  })
  const found = async (query: string): Promise<string[]> => {
    const { body } = await harness.other.ask('GET', `/api/orders?${query}`)
    const names = new Map(Object.entries(ids).map(([name, id]) => [id, name]))
    return body.data.map(({ id }: { id: number }) => names.get(id))
  }

  test('4.5 GET /api/orders: lists the newest first, even of one instant', async () => {
    expect(await found('')).toEqual(['third', 'second', 'first'])
  })

  test('4.5 GET /api/orders: lists orders with all their fields', async () => {
    const list = await harness.other.ask('GET', '/api/orders?search=Lyon')
    const one = await harness.other.ask('GET', `/api/orders/${ids.second}`)

    expectPage(list.body, ORDER)
    expect(list.body.data).toEqual([one.body])
  })

  test.each([
    ['search=acme', ['first']],
    ['search=100%25', ['first']],
    ['search=%25', ['first']],
    ['search=_', ['first']],
    ['search=%5C', ['first']],
    ['search=n1%209gu', ['first']],
    ['search=barn', ['second']],
    ['search=LYON', ['second']],
    ['search=gate', ['second']],
    ['search=inv-abc', ['second']],
    ['search=meadow', ['third']],
    ['search=france', ['third']],
    ['search=0815', ['third']],
    ['search=pigeon', ['third']],
    ['search=shipp', ['third']],
    ['search=', ['third', 'second', 'first']],
    ['search=nothing', []],
    ['type=2', ['second']],
    ['type=1', ['third', 'first']],
    ['type=Physical%20SIM', ['third', 'first']],
    ['type=', ['third', 'second', 'first']],
    ['status=Pending', ['second']],
    ['status=Failed', []],
    ['date=2026-11-20', ['third', 'second']],
    ['date=2026-11-19', ['first']],
    ['date=2026-11-20T12:00:00Z', ['third', 'second']],
    ['date=2026-11-20T12:00:01Z', []],
    ['date=2026-11-19T13:00:00%2B02:00', ['third', 'second', 'first']],
    ['type=1&status=shipped&search=post&date=2026-11-20', ['third']],
  ])('4.5 GET /api/orders: query %s finds %j', async (query, names) => {
    expect(await found(query)).toEqual(names)
  })

  test.each([
    ['type=3', 'type'],
    ['status=Open', 'status'],
    ['date=yesterday', 'date'],
    ['date=2026-02-30', 'date'],
  ])('4.5 GET /api/orders: %s is refused, naming the parameter', async (query, parameter) => {
    const answer = await harness.other.ask('GET', `/api/orders?${query}`)

    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request', errors: [{ parameter }] } })
  })
})

describe('GET /api/orders/pricing', () => {
  const pricing = async (tenant: Tenant) => (await tenant.ask('GET', '/api/orders/pricing')).body
  const SHIPPED = [
    { type: 1, price: 2.5 },
    { type: 2, price: 1 },
  ]

  test('4.5 GET /api/orders/pricing: prefers a tenant’s own price to the platform’s', async () => {
    const set = await harness.tenant.inside('PUT', '/internal/order-prices', { prices: [{ type: 1, price: 1.234567 }] })
    const ours = await pricing(harness.tenant)
    const theirs = await pricing(harness.other)
    const own = await harness.tenant.inside('GET', '/internal/order-prices')
    await harness.tenant.inside('PUT', '/internal/order-prices', { prices: [] })

    expect(set).toMatchObject({ status: 200, body: { prices: [{ type: 1, price: 1.234567 }] } })
    expect(own.body).toEqual(set.body)
    expect(ours).toEqual([
      { type: 1, price: 1.234567 },
      { type: 2, price: 1 },
    ])
    expect(theirs).toEqual(SHIPPED)
    expect(await pricing(harness.tenant)).toEqual(SHIPPED)
  })

  test('4.5 GET /api/orders/pricing: omits types without a price, which cannot be ordered', async () => {
    const before = await harness.operate('GET', '/internal/order-prices')
    await harness.operate('PUT', '/internal/order-prices', { prices: [{ type: 2, price: 0 }] })
    const listed = await pricing(harness.tenant)
    const physical = await harness.tenant.ask('POST', '/api/orders', { type: 1, quantity: 1 })
    const free = await harness.tenant.ask('POST', '/api/orders', { type: 2, quantity: 9 })
    await harness.operate('PUT', '/internal/order-prices', before.body)

    expect(before.body).toEqual({ prices: SHIPPED })
    expect(listed).toEqual([{ type: 2, price: 0 }])
    expect(physical).toMatchObject({ status: 422, body: { code: 'order_type_unavailable' } })
    expect(free).toMatchObject({ status: 200, body: { cost: 0 } })
    expect(await pricing(harness.tenant)).toEqual(SHIPPED)
  })

  test.each([
    [{ prices: [{ type: 3, price: 1 }] }, '/prices/0/type'],
    [{ prices: [{ type: 1, price: -1 }] }, '/prices/0/price'],
    [{ prices: [{ type: 1, price: 100_001 }] }, '/prices/0/price'],
    [{ prices: [1, 2].map((price) => ({ type: 1, price })) }, '/prices/1/type'],
    [{}, '/prices'],
  ])('4.5 GET /api/orders/pricing: refuses the prices %j', async (body, pointer) => {
    const answer = await harness.operate('PUT', '/internal/order-prices', body)

    expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer }] } })
  })

  test('4.5 GET /api/orders/pricing: prices the dearest possible order exactly', async () => {
    await harness.tenant.inside('PUT', '/internal/order-prices', { prices: [{ type: 1, price: 99_999.999999 }] })
    const { body } = await harness.tenant.ask('POST', '/api/orders', { type: 1, quantity: 10_000 })
    await harness.tenant.inside('PUT', '/internal/order-prices', { prices: [] })

    expect(body.cost).toBe(999_999_999.99)
  })
})

test('4.5 GET /api/orders/metadata: lists the types under the key `types`', async () => {
  expectLabels(await harness.tenant.ask('GET', '/api/orders/metadata'), { types: { 1: 'Physical SIM', 2: 'eSIM' } })
})

test('an imported SIM belongs to no order', async () => {
  const { id } = await aSim(harness.tenant)
  const orderId = await placed(harness.tenant)

  const { body } = await harness.tenant.inside('GET', `/internal/orders/${orderId}/sims`)

  expect(body.data.map((sim: { id: number }) => sim.id)).not.toContain(id)
})
