/** Orders after they are placed: processing, shipping, profiles, payment. Internal interface. */
import { inflateSync } from 'node:zlib'
import { create } from 'qrcode'
import { describe, expect, test } from 'vitest'
import { iccidOf, luhnOk } from '../../../domain/identifiers.ts'
import { anIccid, aSim, type Tenant, useHarness } from '../harness.ts'

const harness = useHarness()

const PARCEL = { shippingCarrier: 'Pigeon Post', trackingNumber: 'PP-1' }
const CSV = { 'content-type': 'text/csv' }

const placed = async (tenant: Tenant, over: Record<string, unknown> = {}): Promise<number> => {
  const order = { type: 1, quantity: 2, shippingLine1: '1 Meadow Lane', ...over }
  return (await tenant.ask('POST', '/api/orders', order)).body.id
}
const step = (id: number, name: string, body?: unknown, headers?: Record<string, string>) =>
  harness.tenant.inside('POST', `/internal/orders/${id}/${name}`, body, headers)
const processing = async (over: Record<string, unknown> = {}): Promise<number> => {
  const id = await placed(harness.tenant, over)
  await step(id, 'process')
  return id
}
const order = async (id: number) => (await harness.tenant.ask('GET', `/api/orders/${id}`)).body
const simsOf = async (id: number, query = '') =>
  (await harness.tenant.inside('GET', `/internal/orders/${id}/sims${query}`)).body
const iccidsOf = async (id: number): Promise<string[]> =>
  (await simsOf(id)).data.map(({ iccid }: { iccid: string }) => iccid).toSorted()
const sim = async (iccid: string) => (await harness.tenant.ask('GET', `/api/sims/${iccid}`)).body
const events = async (id: number) => {
  const { body } = await harness.tenant.ask('GET', `/api/events?type=1&searchTerm=Order%20${id}%20`)
  return body.data.map(({ title, severity }: { title: string; severity: number }) => [title, severity]).reverse()
}

describe('physical SIMs', () => {
  test('are processed, shipped and delivered, each with an event', async () => {
    const id = await placed(harness.tenant)
    const iccids = [anIccid(), anIccid()]

    const steps = [await step(id, 'process'), await step(id, 'ship', { ...PARCEL, iccids }), await step(id, 'deliver')]

    expect(steps.map(({ status, body }) => [status, body])).toEqual([
      [200, { id, status: 'Processing' }],
      [200, { id, status: 'Shipped', ignored: [] }],
      [200, { id, status: 'Delivered' }],
    ])
    expect(await order(id)).toMatchObject({ status: 'Delivered', ...PARCEL, shippingLine1: '1 Meadow Lane' })
    expect(await events(id)).toEqual([
      [`Order ${id} was placed`, 0],
      [`Order ${id} is being processed`, 0],
      [`Order ${id} was shipped`, 0],
      [`Order ${id} was delivered`, 0],
    ])
  })

  test('join the estate unprovisioned when shipped', async () => {
    const id = await processing()
    const iccids = [anIccid(), anIccid()].reverse()
    const unknown = await harness.tenant.ask('GET', `/api/sims/${iccids[0]}`)

    await step(id, 'ship', { ...PARCEL, iccids })

    expect(unknown.status).toBe(404)
    for (const iccid of iccids) {
      expect(await sim(iccid)).toMatchObject({ status: 0, type: 0, poolId: null, esimQrPayload: null })
    }
    const { data, pagination } = await simsOf(id)
    expect(await iccidsOf(id)).toEqual(iccids.toSorted())
    expect(data.map(({ id }: { id: number }) => id)).toEqual(data.map(({ id }: { id: number }) => id).toSorted())
    expect(pagination).toMatchObject({ pageSize: 100, totalItems: 2 })
    expect((await simsOf(id, '?pageSize=1&page=2')).data).toEqual([data[1]])
    expect((await harness.tenant.inside('GET', `/internal/orders/${id}`)).body).toMatchObject({ simCount: 2 })
  })

  test('keep the fields of their records', async () => {
    const id = await processing()
    const [a, b] = [anIccid(), anIccid()]

    const sims = [{ iccid: a, imsi: '262015550001', tag: 'Pump', type: 0 }, { iccid: b }]
    const { status } = await step(id, 'ship', { ...PARCEL, sims })

    expect(status).toBe(200)
    expect(await sim(a)).toMatchObject({ imsi: '262015550001', tag: 'Pump' })
  })

  test('come as CSV, with the parcel in the query', async () => {
    const id = await processing()
    const [a, b] = [anIccid(), anIccid()]

    const query = 'shippingCarrier=Pigeon%20Post&trackingNumber=PP-7'
    const { status } = await step(id, `ship?${query}`, `iccid,tag\r\n${a},"Pump, north"\r\n${b},\r\n`, CSV)

    expect(status).toBe(200)
    expect(await sim(a)).toMatchObject({ tag: 'Pump, north', type: 0 })
    expect(await order(id)).toMatchObject({ shippingCarrier: 'Pigeon Post', trackingNumber: 'PP-7' })
  })

  test.each(['shippingCarrier=x', 'trackingNumber=1', 'shippingCarrier=&trackingNumber=1'])(
    'are refused as CSV with only %s',
    async (query) => {
      const id = await processing()

      const answer = await step(id, `ship?${query}`, `iccid\n${anIccid()}\n${anIccid()}\n`, CSV)

      const parameter = query.includes('=1') ? 'shippingCarrier' : 'trackingNumber'
      expect(answer).toMatchObject({ status: 400, body: { errors: [{ parameter }] } })
    },
  )

  test('are refused with the line of a fault', async () => {
    const id = await processing()
    const good = anIccid()

    const answer = await step(id, 'ship?shippingCarrier=x&trackingNumber=1', `iccid\n${good}\n8.94E+18\n`, CSV)

    expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer: '/sims/1' }] } })
    expect(answer.body.errors[0].detail).toMatch(/line 3: .*spreadsheet/)
    expect((await harness.tenant.ask('GET', `/api/sims/${good}`)).status).toBe(404)
  })

  test.each([
    ['no carrier', { shippingCarrier: undefined }, '/shippingCarrier'],
    ['an empty tracking number', { trackingNumber: '' }, '/trackingNumber'],
    ['an ICCID that is none', { iccids: ['12', anIccid()] }, '/iccids/0'],
    ['an ICCID as a number', { iccids: [8944500102, anIccid()] }, '/iccids/0'],
    ['neither list', { iccids: undefined }, '/iccids'],
    ['both lists', { sims: [{ iccid: anIccid() }] }, '/iccids'],
    ['a record without an ICCID', { iccids: null, sims: [{ tag: 'x' }, { iccid: anIccid() }] }, '/sims/0'],
    ['an eSIM', { iccids: null, sims: [{ iccid: anIccid(), type: 1 }, { iccid: anIccid() }] }, '/sims/0'],
    ['a code', { iccids: null, sims: [{ iccid: anIccid(), esimQrPayload: 'LPA:1$a.example$B' }] }, '/sims/0'],
    ['one ICCID twice', { iccids: ['8944500102999999999', '8944500102999999999'] }, '/iccids/1'],
  ])('are refused with %s', async (_what, wrong, pointer) => {
    const id = await processing()

    const answer = await step(id, 'ship', { ...PARCEL, iccids: [anIccid(), anIccid()], ...wrong })

    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request', errors: [{ pointer }] } })
    expect((await order(id)).status).toBe('Processing')
  })

  test.each([1, 3])('are refused if %i come for 2 ordered', async (count) => {
    const id = await processing()

    const answer = await step(id, 'ship', { ...PARCEL, iccids: Array.from({ length: count }, anIccid) })

    expect(answer).toMatchObject({ status: 422, body: { code: 'order_quantity_mismatch' } })
    expect(answer.body.detail).toMatch(new RegExp(`for 2 .* ${count} were given`))
  })

  test('need an address from the order or the request', async () => {
    const id = await processing({ shippingLine1: null, shippingCity: 'Ghent', shippingPostcode: '9000' })
    const iccids = [anIccid(), anIccid()]

    const address = { shippingLine1: '2 Field Row', shippingPostcode: '9001', shippingCompany: null }
    const without = await step(id, 'ship', { ...PARCEL, iccids })
    const withOne = await step(id, 'ship', { ...PARCEL, iccids, ...address })

    expect(without).toMatchObject({ status: 422, body: { code: 'shipping_address_missing' } })
    expect(withOne.status).toBe(200)
    expect(await order(id)).toMatchObject({ ...address, shippingCity: 'Ghent' })
  })

  test.each(['ours', 'theirs'])('are refused together if one ICCID is %s', async (whose) => {
    const known = await aSim(whose === 'ours' ? harness.tenant : harness.other)
    const fresh = anIccid()
    const id = await processing()

    const answer = await step(id, 'ship', { ...PARCEL, iccids: [fresh, known.iccid] })

    expect(answer).toMatchObject({ status: 409, body: { code: 'sim_exists', errors: [{ pointer: '/iccids/1' }] } })
    expect((await harness.tenant.ask('GET', `/api/sims/${fresh}`)).status).toBe(404)
    expect(await order(id)).toMatchObject({ status: 'Processing', trackingNumber: null })
    expect((await simsOf(id)).data).toEqual([])
  })

  test('ship once under two requests at once', async () => {
    const id = await processing()
    const lists = [0, 1].map(() => [anIccid(), anIccid()])

    const answers = await Promise.all(lists.map((iccids) => step(id, 'ship', { ...PARCEL, iccids })))

    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409])
    const sent = lists[answers.findIndex(({ status }) => status === 200)] ?? []
    expect(await iccidsOf(id)).toEqual(sent.toSorted())
  })

  test('go to one of two orders at once', async () => {
    const [one, two] = [await processing(), await processing()]
    const iccids = [anIccid(), anIccid()]

    const answers = await Promise.all([
      step(one, 'ship', { ...PARCEL, iccids }),
      step(two, 'ship', { ...PARCEL, iccids: iccids.toReversed() }),
    ])

    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409])
    expect([...(await iccidsOf(one)), ...(await iccidsOf(two))]).toHaveLength(2)
  })
})

describe('an order', () => {
  test.each([
    ['Pending', [], 'ship', 'order_state_conflict'],
    ['Processing', ['process'], 'cancel', 'order_not_pending'],
    ['Shipped', ['process', 'ship'], 'ship', 'order_state_conflict'],
    ['Delivered', ['process', 'ship', 'deliver'], 'deliver', 'order_state_conflict'],
    ['Cancelled', ['cancel'], 'process', 'order_not_pending'],
  ])('that is %s (after %j) refuses %s: 409 %s', async (status, before, last, code) => {
    const id = await placed(harness.tenant)
    const take = (name: string) => {
      if (name === 'cancel') return harness.tenant.ask('DELETE', `/api/orders/${id}`)
      return step(id, name, name === 'ship' ? { ...PARCEL, iccids: [anIccid(), anIccid()] } : undefined)
    }
    for (const name of before) expect((await take(name)).status).toBe(200)

    const answer = await take(last)

    expect(answer).toMatchObject({ status: 409, body: { code } })
    expect(answer.body.detail).toContain(`is ${status}`)
    expect((await order(id)).status).toBe(status)
  })

  test('fails with a reason and a warning event', async () => {
    const id = await processing()

    const without = await step(id, 'fail', { reason: '' })
    const failed = await step(id, 'fail', { reason: 'out of stock' })

    expect(without.status).toBe(400)
    expect(failed).toMatchObject({ status: 200, body: { id, status: 'Failed' } })
    expect((await events(id)).at(-1)).toEqual([`Order ${id} has failed`, 1])
    const detail = await harness.tenant.inside('GET', `/internal/orders/${id}`)
    expect(detail.body).toMatchObject({ status: 'Failed', failureReason: 'out of stock', simCount: 0 })
  })
})

describe('eSIMs', () => {
  const PAYLOAD = /^LPA:1\$smdp\.simherd\.example\$[0-9A-F]{32}$/

  test('get one ICCID, payload and QR code each', async () => {
    const id = await processing({ type: 2, quantity: 5, shippingLine1: null })

    const done = await step(id, 'complete')

    expect(done).toMatchObject({ status: 200, body: { id, status: 'Completed' } })
    const { data } = await simsOf(id)
    const made = await Promise.all(data.map(({ iccid }: { iccid: string }) => sim(iccid)))
    expect(made).toHaveLength(5)
    expect(new Set(made.map(({ esimQrPayload }) => esimQrPayload)).size).toBe(5)
    for (const { iccid, type, status, esimQrPayload, esimQrDataUrl } of made) {
      expect(iccid).toMatch(/^8999901\d{12}$/)
      expect(luhnOk(iccid)).toBe(true)
      expect([type, status]).toEqual([1, 0])
      expect(esimQrPayload).toMatch(PAYLOAD)
      expect(modulesOf(esimQrDataUrl)).toEqual(codeOf(esimQrPayload))
    }
    expect((await events(id)).at(-1)).toEqual([`Order ${id} is complete`, 0])
  })

  test('skip ICCIDs that are already imported, also without their check digit', async () => {
    const first = await processing({ type: 2, quantity: 1 })
    await step(first, 'complete')
    const [last = ''] = await iccidsOf(first)
    const next = (offset: number) => iccidOf(String(BigInt(last.slice(0, 18)) + BigInt(offset)))
    await aSim(harness.other, { iccid: next(1) })
    await aSim(harness.tenant, { iccid: next(3).slice(0, -1) })

    const id = await processing({ type: 2, quantity: 3 })
    const done = await step(id, 'complete')

    expect(done.status).toBe(200)
    expect(await iccidsOf(id)).toEqual([next(2), next(4), next(5)])
  })

  const CODE = 'LPA:1$rsp.example.com$04386-AGYFT-A74Y8-3F815'

  test('show the activation codes of the request as given', async () => {
    const id = await processing({ type: 2, quantity: 3 })
    const [a, b, c] = [anIccid(), anIccid(), anIccid()]

    const first = { iccid: a, esimQrPayload: CODE, imsi: '262015550001', tag: 'Pump' }
    const done = await step(id, 'complete', {
      sims: [first, { iccid: b, type: 1, esimQrPayload: `${CODE}$1.3.6.1.4.1.31746$1` }, { iccid: c }],
    })

    expect(done).toMatchObject({ status: 200, body: { id, status: 'Completed' } })
    const esimQrDataUrl = expect.stringMatching(/^data:image\/png;base64,/)
    expect(await sim(a)).toMatchObject({ type: 1, status: 0, ...first, esimQrDataUrl })
    expect(await sim(b)).toMatchObject({ type: 1, esimQrPayload: `${CODE}$1.3.6.1.4.1.31746$1` })
    expect(await sim(c)).toMatchObject({ type: 1, esimQrPayload: null, esimQrDataUrl: null })
    expect((await simsOf(id)).data).toHaveLength(3)
  })

  test.each([
    ['text/csv', (a: string, b: string) => `iccid;esimQrPayload\r\n="${a}";${CODE}\r\n${b};\r\n`],
    ['application/x-ndjson', (a: string, b: string) => `{"iccid":"${a}","esimQrPayload":"${CODE}"}\n{"iccid":"${b}"}`],
  ])('come as %s', async (type, bodyOf) => {
    const id = await processing({ type: 2 })
    const [a, b] = [anIccid(), anIccid()]

    expect((await step(id, 'complete', bodyOf(a, b), { 'content-type': type })).status).toBe(200)
    expect(await sim(a)).toMatchObject({ type: 1, esimQrPayload: CODE })
    expect(await sim(b)).toMatchObject({ type: 1, esimQrPayload: null })
  })

  test.each([
    ['a physical SIM', { type: 0 }, /^type: got 0; expected 1 \(eSIM\), as was ordered$/],
    ['a code that is none', { esimQrPayload: 'LPA:1$host$S3CRET' }, /^esimQrPayload: got a text whose host is no DNS/],
  ])('are refused together with %s', async (_, wrong, detail) => {
    const id = await processing({ type: 2 })
    const good = anIccid()

    const answer = await step(id, 'complete', { sims: [{ iccid: good }, { iccid: anIccid(), ...wrong }] })

    expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer: '/sims/1' }] } })
    expect(answer.body.errors[0].detail).toMatch(detail)
    expect(JSON.stringify(answer.body)).not.toContain('S3CRET')
    expect((await harness.tenant.ask('GET', `/api/sims/${good}`)).status).toBe(404)
    expect((await order(id)).status).toBe('Processing')
  })

  test('take the ICCIDs of the request, and no code is made for them', async () => {
    const id = await processing({ type: 2 })
    const iccids = [anIccid(), anIccid()]

    const tooFew = await step(id, 'complete', { iccids: iccids.slice(1) })
    const twice = await step(id, 'complete', { iccids: [iccids[0], iccids[0]] })
    const done = await step(id, 'complete', { iccids })

    expect(tooFew).toMatchObject({ status: 422, body: { code: 'order_quantity_mismatch' } })
    expect(twice).toMatchObject({ status: 400, body: { errors: [{ pointer: '/iccids/1' }] } })
    expect(done.status).toBe(200)
    expect(await sim(iccids[1] ?? '')).toMatchObject({ type: 1, esimQrPayload: null, esimQrDataUrl: null })
  })

  test('are made once under two requests at once', async () => {
    const id = await processing({ type: 2 })

    const answers = await Promise.all([step(id, 'complete'), step(id, 'complete')])

    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409])
    expect(await iccidsOf(id)).toHaveLength(2)
  })
})

describe('payment of an order', () => {
  test('is kept if omitted and cleared by empty text', async () => {
    const id = await placed(harness.tenant)
    const set = (body: unknown) => harness.tenant.inside('PATCH', `/internal/orders/${id}`, body)

    const payment = { paymentInvoiceId: 'in_1', paymentReceiptUrl: 'https://pay.example/r/1' }
    const first = await set(payment)
    const noted = await order(id)
    await set({ paymentInvoiceId: null })
    await set({})
    const kept = await order(id)
    await set({ paymentReceiptUrl: '' })

    expect(first).toMatchObject({ status: 200, body: { id, status: 'Pending' } })
    expect(noted).toMatchObject(payment)
    expect(kept).toEqual(noted)
    expect(await order(id)).toMatchObject({ ...payment, paymentReceiptUrl: null })
  })

  test.each(['javascript:alert(1)', 'pay.example', 'https://pay.example/a b'])(
    'is refused with a receipt at %j',
    async (url) => {
      const id = await placed(harness.tenant)

      const answer = await harness.tenant.inside('PATCH', `/internal/orders/${id}`, { paymentReceiptUrl: url })

      expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer: '/paymentReceiptUrl' }] } })
    },
  )
})

test('the audit trail shows changed orders and prices', async () => {
  const id = await placed(harness.tenant)
  await harness.tenant.ask('DELETE', `/api/orders/${id}`)
  await harness.tenant.inside('PUT', '/internal/order-prices', { prices: [{ type: 1, price: 2 }] })
  await harness.tenant.inside('PUT', '/internal/order-prices', { prices: [] })

  const ofOrder = await harness.tenant.inside('GET', `/internal/audit?subject=order&subjectId=${id}`)
  const ofPrices = await harness.tenant.inside('GET', '/internal/audit?subject=order-prices')

  const placing = expect.objectContaining({ quantity: 2, total: 5, status: 'Pending' })
  expect(ofOrder.body.data.map(({ action, before, after }: any) => ({ action, before, after }))).toEqual([
    { action: 'cancelOrder', before: { status: 'Pending' }, after: { status: 'Cancelled' } },
    { action: 'createOrder', before: null, after: placing },
  ])
  expect(ofPrices.body.data[0]).toMatchObject({ before: { prices: [{ type: 1, price: 2 }] }, after: { prices: [] } })
})

/** The modules of a QR code as text, dark ones as `#`. Its picture has 4 pixels a module and a margin of 4 modules. */
function modulesOf(dataUrl: string): string[] {
  const png = Buffer.from(dataUrl.replace(/^data:image\/png;base64,/, ''), 'base64')
  const parts: Buffer[] = []
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT')
      parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)))
  }
  const pixels = inflateSync(Buffer.concat(parts))
  const width = png.readUInt32BE(16)
  // One byte a pixel, and one before each line.
  const lineBytes = 1 + width
  const size = width / 4 - 8
  const at = (place: number) => (place + 4) * 4 + 1
  const dark = (x: number, y: number) => pixels[at(y) * lineBytes + 1 + at(x)] === 0
  return Array.from({ length: size }, (_, y) =>
    Array.from({ length: size }, (_, x) => (dark(x, y) ? '#' : ' ')).join(''),
  )
}

/** The modules of a text's QR code. */
function codeOf(text: string): string[] {
  const { modules } = create(text, { errorCorrectionLevel: 'M' })
  return Array.from({ length: modules.size }, (_, y) =>
    Array.from({ length: modules.size }, (_, x) => (modules.get(y, x) ? '#' : ' ')).join(''),
  )
}
