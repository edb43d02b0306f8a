/** The pages of orders: their list and prices, a single one, and what is done to it. */
import { beforeEach, describe, expect, test } from 'vitest'
import { HOSTILE_NAMES } from '../../unit/channels/hostile.ts'
import { anIccid, aTenant, times, useHarness } from '../harness.ts'
import { type Browser, escaped, fieldIn, linksIn, OWN, useConsole } from './form-browser.ts'

const harness = useHarness()
const pages = useConsole(harness, { clock: () => harness.now })

let browser: Browser
beforeEach(async () => {
  browser = await pages.signedIn(harness.operatorKey)
})
const ordersOf = (tenant = harness.tenant) => `/t/${tenant.id}/orders`
const textOf = (body: string) =>
  body
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .replaceAll('&#39;', "'")
    .replaceAll('&quot;', '"')
const ordersIn = (body: string) => [...body.matchAll(/id="order-(\d+)"/g)].map(([, id]) => Number(id))

const order = async (fields: object = {}, tenant = harness.tenant): Promise<number> =>
  (await tenant.ask('POST', '/api/orders', { type: 1, quantity: 2, shippingLine1: '1 Meadow Lane', ...fields })).body.id
const take = (id: number, step: string, body?: object) =>
  harness.tenant.inside('POST', `/internal/orders/${id}/${step}`, body)
const processing = async (fields: object = {}): Promise<number> => {
  const id = await order(fields)
  await take(id, 'process')
  return id
}
const stateOf = async (id: number) => (await harness.tenant.inside('GET', `/internal/orders/${id}`)).body
const actsIn = (body: string, id: number) =>
  linksIn(body).flatMap((href) => (href?.startsWith(`${ordersOf()}/${id}/`) ? [href.split('/').at(-1)] : []))

/** Sends the form of an act twice, as a person who clicks again. */
async function sendTwice(url: string, fields: Record<string, string> = {}) {
  const { body } = await browser.get(url)
  const seen = fieldIn(body, 'seen').replaceAll('&quot;', '"')
  const form = { key: fieldIn(body, 'key'), seen, ...fields }
  const sent = [await browser.post(url, form), await browser.post(url, form)]
  const [location] = sent.map(({ headers }) => String(headers['location']))
  return { body, statuses: sent.map(({ status }) => status), location: location ?? '', form }
}

describe('the orders', () => {
  test('are listed, newest first, by status and by words', async () => {
    const tenant = await aTenant(harness, 'Listed')
    const ids = await times(51, () => order({}, tenant))
    const cancelled = await order({ shippingCity: 'Ghent' }, tenant)
    await tenant.ask('DELETE', `/api/orders/${cancelled}`)
    const { body } = await browser.get(ordersOf(tenant))
    const next = linksIn(body).find((href) => href?.includes('cursor=')) ?? ''
    const shown = async (query: string) => ordersIn((await browser.get(`${ordersOf(tenant)}${query}`)).body)

    expect(ordersIn(body)).toEqual([cancelled, ...ids.toReversed()].slice(0, 50))
    expect(body).toContain('52 orders')
    expect(ordersIn((await browser.get(next)).body)).toEqual(ids.slice(0, 2).toReversed())
    expect(await shown('?status=Cancelled')).toEqual([cancelled])
    expect(await shown('?status=&search=ghent')).toEqual([cancelled])
    expect((await browser.get(`${ordersOf(tenant)}?status=Failed`)).body).toContain('No order matches.')
    expect((await browser.get(`${ordersOf(tenant)}?status=Lost`)).status).toBe(400)
  })

  test('that are not there yet, and prices that are none, say what to do', async () => {
    const tenant = await aTenant(harness, 'Empty')
    const { body } = await browser.get(ordersOf(tenant))

    expect(textOf(body)).toContain('No order yet. New order places one.')
    expect(textOf(body)).toMatch(/eSIM EUR [\d.]+, the platform's/)
  })

  test('show a reading key of the tenant no more than it may see', async () => {
    const { key } = (await harness.tenant.inside('POST', '/internal/keys', { name: 'r', scopes: ['read'] })).body
    const id = await processing()
    const reader = await pages.signedIn(key)
    const [list, one] = [await reader.get(ordersOf()), await reader.get(`${ordersOf()}/${id}`)]

    expect([list.status, one.status]).toEqual([200, 200])
    expect(textOf(list.body)).not.toContain("the platform's")
    expect(linksIn(list.body)).not.toContain(`${ordersOf()}/prices`)
    expect(actsIn(one.body, id)).toEqual([])
    expect(one.body).not.toContain('id="sims"')
    expect(one.body).not.toContain('annot be read')
  })
})

const TWICE = '8944500102777000001'

describe('an order', () => {
  test('is found, and shows price, payment and delivery', async () => {
    const id = await order({ shippingCity: 'Ghent', quantity: 1200 })
    const receipt = 'https://pay.example/r/1'
    await harness.tenant.inside('PATCH', `/internal/orders/${id}`, {
      paymentInvoiceId: 'INV-1',
      paymentReceiptUrl: receipt,
    })
    const { unitPrice, total } = await stateOf(id)
    const found = await browser.get(`/t/${harness.tenant.id}/find?q=${id}`)
    const { body } = await browser.get(`${ordersOf()}/${id}`)
    const text = textOf(body)

    expect(found.body + String(found.headers['location'])).toContain(`${ordersOf()}/${id}`)
    expect(text).toContain('1,200 × Physical SIM, EUR')
    for (const words of [
      `Price EUR ${unitPrice.toFixed(2)} each`,
      `Total EUR ${total.toLocaleString('en', { minimumFractionDigits: 2 })}`,
      'Invoice INV-1',
      `Receipt ${receipt}`,
      'Address 1 Meadow Lane',
      'City Ghent',
    ])
      expect(text).toContain(words)
    expect(linksIn(body)).not.toContain(receipt)
    expect((await browser.get(`${ordersOf()}/99999`)).status).toBe(404)
    expect((await browser.get(`${ordersOf()}/one`)).status).toBe(400)
  })

  test('shows the words of others as text', async () => {
    let shown = 0
    for (const words of HOSTILE_NAMES) {
      const id = await order({ shippingExtraInfo: words })
      if (id === undefined) continue
      await take(id, 'fail', { reason: words })
      shown += 1
      const { body } = await browser.get(`${ordersOf()}/${id}`)
      expect(body.split(`<bdi>${escaped(words)}</bdi>`)).toHaveLength(3)
    }

    expect(shown).toBeGreaterThan(5)
  })

  test('lists its SIMs in pages', async () => {
    const id = await processing({ type: 2, quantity: 51 })
    await take(id, 'complete')
    const [first, second] = ['', '?page=2'].map((query) => browser.get(`${ordersOf()}/${id}${query}`))
    const simsIn = async (page: typeof first) =>
      linksIn((await page)?.body ?? '').filter((href) => href?.includes('/sims/'))

    expect(await simsIn(first)).toHaveLength(50)
    expect(await simsIn(second)).toHaveLength(1)
    expect(linksIn((await first)?.body ?? '')).toContain(`${ordersOf()}/${id}?page=2`)
  })

  test.each([
    ['Pending', [], ['process', 'cancel', 'fail', 'payment'], 1],
    ['Processing', ['process'], ['ship', 'fail', 'payment'], 1],
    ['an eSIM Processing', ['process'], ['complete', 'fail', 'payment'], 2],
    ['Completed', ['process', 'complete'], ['payment'], 2],
  ])('that is %s is offered the acts of that state', async (_, before, acts, type) => {
    const id = await order({ type })
    for (const step of before) await take(id, step)
    const { body } = await browser.get(`${ordersOf()}/${id}`)

    expect(actsIn(body, id)).toEqual(acts)
  })

  test('is processed, shipped and delivered, each once', async () => {
    const id = await order({ shippingLine1: null })
    const path = `${ordersOf()}/${id}`
    const iccids = [anIccid(), anIccid()]
    const parcel = { shippingCarrier: 'Pigeon Post', trackingNumber: 'PP-1', shippingLine1: '2 Field Row' }
    const process = await sendTwice(`${path}/process`)
    const ship = await sendTwice(`${path}/ship`, { ...parcel, sims: `${iccids[0]}\r\n\r\n ${iccids[1]} \r\n` })
    const shipped = await browser.get(ship.location, OWN)
    const deliver = await sendTwice(`${path}/deliver`)
    const events = (await harness.tenant.ask('GET', `/api/events?type=1&searchTerm=Order%20${id}%20`)).body.data

    expect(process.body).toContain('It can no longer be cancelled.')
    expect(ship.body).toContain('name="shippingLine1"')
    expect([process, ship, deliver].flatMap(({ statuses }) => statuses)).toEqual(Array(6).fill(303))
    expect(await stateOf(id)).toMatchObject({ status: 'Delivered', ...parcel, simCount: 2 })
    expect(events).toHaveLength(4)
    expect(textOf(shipped.body)).toContain('It is shipped: its SIMs are in the estate.')
    expect(linksIn(shipped.body).filter((href) => href?.includes('/sims/'))).toHaveLength(2)
  })

  test.each([
    ['too few ICCIDs', { sims: anIccid() }, 422],
    ['no ICCID', { sims: '' }, 400],
    ['no carrier', { sims: `${anIccid()}\n${anIccid()}`, shippingCarrier: '' }, 400],
    [
      'an ICCID twice',
      { sims: `${TWICE}\n${TWICE}` },
      400,
      'Each SIM has an ICCID of its own: 1 do not. /sims/1/iccid: is',
    ],
  ])('is not shipped with %s: the form keeps what was typed', async (_, wrong, status, says = 'role="alert"') => {
    const id = await processing()
    const url = `${ordersOf()}/${id}/ship`
    const key = fieldIn((await browser.get(url)).body, 'key')
    const answer = await browser.post(url, { key, shippingCarrier: 'Pigeon Post', trackingNumber: 'PP-<1>', ...wrong })

    expect(answer.status).toBe(status)
    expect(answer.body).toContain(says)
    expect(answer.body).toContain('value="PP-&lt;1&gt;"')
    expect(answer.body).toContain(`>${wrong.sims}</textarea>`)
    expect(await stateOf(id)).toMatchObject({ status: 'Processing', simCount: 0 })
  })

  test('is completed with the profiles of a carrier', async () => {
    const id = await processing({ type: 2 })
    const codes = ['LPA:1$smdp.example$AAA', 'LPA:1$smdp.example$BBB']
    const sims = codes.map((code) => `${anIccid()}, ${code}`).join('\n')
    const { statuses } = await sendTwice(`${ordersOf()}/${id}/complete`, { sims })
    const found = (await harness.tenant.inside('GET', `/internal/orders/${id}/sims`)).body.data
    const read = async (simId: number) => (await harness.tenant.ask('GET', `/api/sims/${simId}`)).body.esimQrPayload

    expect(statuses).toEqual([303, 303])
    expect(await Promise.all(found.map(({ id }: { id: number }) => read(id)))).toEqual(codes)
  })

  test('fails with a reason, and is cancelled, each once', async () => {
    const [failed, cancelled] = [await processing(), await order()]
    const fail = await sendTwice(`${ordersOf()}/${failed}/fail`, { reason: 'out of stock' })
    const cancel = await sendTwice(`${ordersOf()}/${cancelled}/cancel`)
    const after = (await browser.get(fail.location, OWN)).body

    expect([...fail.statuses, ...cancel.statuses]).toEqual(Array(4).fill(303))
    expect(textOf(after)).toContain('It has failed. out of stock')
    expect(await stateOf(cancelled)).toMatchObject({ status: 'Cancelled' })
  })

  test('in another state says so, without a button', async () => {
    const id = await processing()
    const page = await browser.get(`${ordersOf()}/${id}/cancel`)
    const sent = await browser.post(`${ordersOf()}/${id}/cancel`, { key: crypto.randomUUID() })

    expect(textOf(page.body)).toContain('This order is Processing: "cancel" takes one that is Pending.')
    expect(page.body).not.toMatch(/<button[^>]*class="cut"/)
    expect(sent.status).toBe(409)
  })

  test('gets an invoice and a receipt, and not over those of another person', async () => {
    const id = await order()
    const url = `${ordersOf()}/${id}/payment`
    const wish = { invoice: 'INV-1', receipt: 'https://pay.example/1' }
    const first = await sendTwice(url, wish)
    const stale = await browser.post(url, { ...first.form, key: crypto.randomUUID(), invoice: 'INV-2' })
    const wrong = await sendTwice(url, { ...wish, receipt: 'javascript:alert(1)' })

    expect([first.statuses, stale.status, wrong.statuses]).toEqual([[303, 303], 412, [400, 400]])
    expect(stale.body).toContain('value="INV-2"')
    expect(await stateOf(id)).toMatchObject({ paymentInvoiceId: 'INV-1', paymentReceiptUrl: wish.receipt })
    expect((await sendTwice(url, { invoice: '', receipt: '' })).statuses).toEqual([303, 303])
    expect(await stateOf(id)).toMatchObject({ paymentInvoiceId: null, paymentReceiptUrl: null })
  })
})

describe('a new order', () => {
  test('is placed once, by a writing key of the tenant', async () => {
    const tenant = await aTenant(harness, 'Orders itself')
    browser = await pages.signedIn(tenant.key)
    const { body, statuses, location } = await sendTwice(`${ordersOf(tenant)}/new`, {
      type: '2',
      quantity: '3',
      shippingCity: 'Ghent',
    })
    const { data } = (await tenant.ask('GET', '/api/orders')).body

    expect(textOf(body)).toMatch(/eSIM, EUR [\d.]+ each/)
    expect(statuses).toEqual([303, 303])
    expect(data).toHaveLength(1)
    expect(data[0]).toMatchObject({ type: 2, quantity: 3, shippingCity: 'Ghent', shippingLine1: null })
    expect((await browser.get(location, OWN)).body).toContain('It is placed.')
  })

  test.each([
    ['0', '1', 400],
    ['', '1', 400],
    ['1', '7', 422],
  ])('of %j SIMs of the type %s is refused', async (quantity, type, status) => {
    const { body, statuses } = await sendTwice(`${ordersOf()}/new`, { quantity, type, shippingCity: 'Bruges' })

    expect(body).toContain('Order SIMs?')
    expect(statuses).toEqual([status, status])
  })
})

describe('the prices of new orders', () => {
  const own = async (of: { readonly inside: typeof harness.tenant.inside }) =>
    (await of.inside('GET', '/internal/order-prices')).body.prices
  const changes = async (of: { readonly inside: typeof harness.tenant.inside }) =>
    (await of.inside('GET', '/internal/audit?subject=order-prices')).body.data.filter(
      ({ subject }: { subject: string }) => subject === 'order-prices',
    )

  test('are changed once, and taken back', async () => {
    const tenant = await aTenant(harness, 'Priced')
    const url = `${ordersOf(tenant)}/prices`
    const { statuses, location } = await sendTwice(url, { 'price-1': '', 'price-2': '0.0025' })
    const after = textOf((await browser.get(location, OWN)).body)
    const set = await own(tenant)
    const count = (await changes(tenant)).length
    await sendTwice(url, { 'price-1': '', 'price-2': '' })

    expect(statuses).toEqual([303, 303])
    expect(set).toEqual([{ type: 2, price: 0.0025 }])
    expect(count).toBe(1)
    expect(after).toContain("eSIM EUR 0.0025, the tenant's own")
    expect(after).toMatch(/Physical SIM EUR [\d.]+, the platform's/)
    expect(await own(tenant)).toEqual([])
  })

  test('are not changed over those of another person, and not to what is no price', async () => {
    const tenant = await aTenant(harness, 'Disputed')
    const url = `${ordersOf(tenant)}/prices`
    const form = { key: fieldIn((await browser.get(url)).body, 'key'), seen: '', 'price-1': '2', 'price-2': '' }
    const theirs = [{ type: 1, price: 7 }]
    await tenant.inside('PUT', '/internal/order-prices', { prices: theirs })
    const stale = await browser.post(url, form)

    expect(stale.status).toBe(412)
    expect(textOf(stale.body)).toContain('It has changed in the meantime.')
    expect(fieldIn(stale.body, 'seen')).toBe('1:7')
    expect(textOf(stale.body)).toContain('Own prices Physical SIM, EUR 7.00 each')
    for (const price of ['much', '-1', '0.0000001', '1e9'])
      expect((await sendTwice(url, { 'price-1': price })).statuses).toEqual([400, 400])
    expect(await own(tenant)).toEqual(theirs)
  })
})
