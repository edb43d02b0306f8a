/** ETags of single resources: `If-None-Match` saves a reader the response, `If-Match` guards a change. */
import { beforeAll, describe, expect, test } from 'vitest'
import { insertEvent } from '../../../store/events.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { anActiveSim, aPool, aSim, aTariff, NOON, useHarness } from '../harness.ts'
import { complete, used } from './estate.ts'

const harness = useHarness()
const at = { pool: '', sim: '', iccid: '', ticket: '', tariff: '', tenant: '/api/tenant', event: '', order: '' }
type Resource = keyof typeof at
const RESOURCES: readonly Resource[] = ['pool', 'sim', 'iccid', 'ticket', 'tariff', 'tenant', 'event', 'order']

beforeAll(async () => {
  const { tenant } = harness
  const { id, iccid } = await aSim(tenant)
  const ticket = await tenant.ask('POST', '/api/tickets/provision', { simId: (await aSim(tenant)).id })
  const order = await tenant.ask('POST', '/api/orders', { type: 1, quantity: 1 })
  await inTenant(harness.store, tenant.id, (tx) =>
    insertEvent(tx, { type: 0, severity: 0, title: 'First', description: '' }),
  )
  at.pool = `/api/pools/${await aPool(tenant)}`
  at.sim = `/api/sims/${id}`
  at.iccid = `/api/sims/${iccid}`
  at.ticket = `/api/tickets/${ticket.body.id}`
  at.tariff = `/api/tariffs/${await aTariff(tenant)}`
  at.event = `/api/events/${(await tenant.ask('GET', '/api/events')).body.data[0].id}`
  at.order = `/api/orders/${order.body.id}`
})
const tagOf = async (path: string): Promise<string> => (await harness.tenant.ask('GET', path)).headers.etag ?? ''
const read = (path: string, tag: string) => harness.tenant.ask('GET', path, undefined, { 'if-none-match': tag })

describe('If-None-Match', () => {
  test.each(RESOURCES)('answers 304 for the current tag of %s', async (which) => {
    const { headers, body } = await harness.tenant.ask('GET', at[which])
    const { etag = '' } = headers

    expect(etag).toMatch(/^"\d+\.[\w-]+"$/)
    for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const same = await read(at[which], tag)
      expect([same.status, same.body, same.headers.etag]).toEqual([304, '', etag])
      expect(same.headers['content-type']).toBeUndefined()
    }
    for (const tag of ['"other"', etag.replace(/"$/, 'x"'), etag.replaceAll('"', '')]) {
      expect(await read(at[which], tag)).toMatchObject({ status: 200, body, headers: { etag } })
    }
  })

  test.each([
    ['pool', () => harness.tenant.ask('PUT', at.pool, { name: 'Fleet', watchdogMode: 2 })],
    ['sim', () => harness.tenant.ask('PATCH', `${at.sim}/tag`, { tag: 'changed' })],
    ['iccid', () => harness.tenant.ask('PATCH', `${at.sim}/tag`, { tag: 'changed again' })],
    ['ticket', () => harness.tenant.ask('DELETE', at.ticket)],
    ['tenant', () => harness.tenant.ask('PATCH', '/api/tenant/name', { name: 'Changed' })],
    ['order', () => harness.tenant.ask('DELETE', at.order)],
  ] as const)('answers 200 and another tag after %s changed', async (which, change) => {
    const before = await tagOf(at[which])
    expect((await change()).status).toBe(200)

    const after = await read(at[which], before)

    expect(after.status).toBe(200)
    expect(after.headers.etag).not.toBe(before)
    expect((await read(at[which], after.headers.etag ?? '')).status).toBe(304)
  })

  test('notices usage, tickets and pool settings of a SIM', async () => {
    const { tenant } = harness
    const pool = await aPool(tenant)
    const sim = await anActiveSim(harness, tenant, { poolId: pool })
    let ticketId = ''
    const changes = [
      () => used(harness, tenant, sim.id, { bytesUp: 1_000_000 }),
      async () => {
        ticketId = (await tenant.ask('POST', '/api/tickets/suspend', { simId: sim.id })).body.id
      },
      () => complete(harness, tenant, sim.id, ticketId),
      () => tenant.ask('PUT', `/api/pools/${pool}`, { name: 'Fleet', watchdogMode: 1, warningThresholdPct: 55 }),
      () => tenant.ask('POST', `/api/sims/${sim.id}/queue-unprovision`),
    ]
    for (const path of [`/api/sims/${sim.id}`, `/api/sims/${sim.iccid}`]) expect(await tagOf(path)).not.toBe('')
    for (const change of changes) {
      const before = await tagOf(`/api/sims/${sim.id}`)
      await change()
      const after = await read(`/api/sims/${sim.id}`, before)
      expect([after.status, change.toString(), after.headers.etag === before]).toEqual([200, change.toString(), false])
      expect(await tagOf(`/api/sims/${sim.iccid}`)).toBe(after.headers.etag)
    }
  })

  test('notices usage and days until renewal of a pool', async () => {
    const poolId = await aPool(harness.tenant)
    const sim = await anActiveSim(harness, harness.tenant, { poolId })
    const first = await tagOf(`/api/pools/${poolId}`)

    await used(harness, harness.tenant, sim.id, { bytesUp: 1_000_000 })
    const second = await read(`/api/pools/${poolId}`, first)
    const nextDay = NOON + 24 * 3_600_000
    const third = await harness.at(nextDay, () => read(`/api/pools/${poolId}`, second.headers.etag ?? ''))

    expect([second.status, second.body.usageMB]).toEqual([200, 1])
    expect([third.status, third.body.daysUntilRenewal]).toEqual([200, second.body.daysUntilRenewal - 1])
  })

  test.each(RESOURCES)('works for HEAD of %s too', async (which) => {
    const tag = await tagOf(at[which])
    const head = (headers: Record<string, string>) => harness.tenant.ask('HEAD', at[which], undefined, headers)

    expect((await head({})).headers.etag).toBe(tag)
    expect((await head({ 'if-none-match': tag })).status).toBe(304)
  })

  test('answers 404 for an unknown pool', async () => {
    const answer = await read('/api/pools/4711000', '*')

    expect([answer.status, answer.headers.etag]).toEqual([404, undefined])
  })

  test('finds no tag on lists and metadata', async () => {
    const paths = ['pools', 'sims', 'tickets', 'tariffs', 'events', 'pools/metadata']
    for (const path of paths) expect(await tagOf(`/api/${path}`), path).toBe('')
  })
})

describe('If-Match', () => {
  /** A change: the resource that it changes, the request, and the status of its success. */
  interface Change {
    readonly path: string
    readonly call: readonly [method: string, url: string, body?: unknown]
    readonly done: number
  }
  const posted = async (url: string, body: object) => `${url}/${(await harness.tenant.ask('POST', url, body)).body.id}`
  const aPoolPath = async () => `/api/pools/${await aPool(harness.tenant)}`
  const aSimPath = async () => `/api/sims/${(await aSim(harness.tenant)).id}`
  const anActivePath = async () => `/api/sims/${(await anActiveSim(harness, harness.tenant)).id}`
  const aTicketPath = async () => {
    const { id: simId } = await aSim(harness.tenant)
    const { body } = await harness.tenant.ask('POST', '/api/tickets/provision', { simId })
    return `/api/tickets/${body.id}`
  }
  const tenantPath = async () => '/api/tenant'
  /** Makes or names the resource, and makes the body. */
  const CHANGES: Readonly<Record<string, readonly [() => Promise<string>, (() => object | Promise<object>)?]>> = {
    'PUT /api/pools/{id}': [aPoolPath, () => ({ name: 'Fleet', watchdogMode: 0 })],
    'DELETE /api/pools/{id}': [aPoolPath],
    'PATCH /api/sims/{id}/tag': [aSimPath, () => ({ tag: 'new' })],
    'POST /api/sims/{id}/queue-unprovision': [anActivePath],
    'POST /api/sims/{id}/queue-reprovision': [anActivePath, async () => ({ poolId: await aPool(harness.tenant) })],
    'DELETE /api/tickets/{id}': [aTicketPath],
    'DELETE /api/orders/{orderId}': [() => posted('/api/orders', { type: 1, quantity: 1 })],
    'PATCH /api/tenant/name': [tenantPath, () => ({ name: `Name ${Math.random()}` })],
    'PATCH /api/tenant/billing-email': [tenantPath, () => ({ billingEmail: `a${Math.random()}@example.com` })],
  }
  const NAMES = Object.keys(CHANGES)
  async function aChange(name: string): Promise<Change> {
    const [resource, body] = CHANGES[name] ?? expect.fail(name)
    const [method = '', template = ''] = name.split(' ')
    const path = await resource()
    const url = template.replace(/^.*\{\w+\}/, path)
    return { path, call: [method, url, await body?.()], done: name === 'DELETE /api/pools/{id}' ? 204 : 200 }
  }
  const ask = ([method, url, body]: Change['call'], tag: string) =>
    harness.tenant.ask(method, url, body, { 'if-match': tag })

  test.each(NAMES)('on %s answers 412 to stale or weak tags', async (name) => {
    const { path, call } = await aChange(name)
    const before = await harness.tenant.ask('GET', path)
    const { etag = '' } = before.headers

    for (const tag of ['"999999.x"', '"999999"', `W/${etag}`, '"other"', 'bare', etag.replaceAll('"', ''), '']) {
      const refused = await ask(call, tag)
      expect(refused, tag).toMatchObject({ status: 412, body: { code: 'precondition_failed' } })
    }
    const after = await harness.tenant.ask('GET', path)
    expect([after.body, after.headers.etag]).toEqual([before.body, etag])
  })

  test.each(NAMES)('on %s accepts the current tag or *', async (name) => {
    for (const tagged of [(tag: string) => tag, (tag: string) => `"999999.x", ${tag}`, () => '*']) {
      const { path, call, done } = await aChange(name)
      const before = await tagOf(path)
      const answer = await ask(call, tagged(before))

      expect(answer.status).toBe(done)
      expect(await tagOf(path)).not.toBe(before)
    }
  })

  test.each(NAMES.filter((name) => !/^(DELETE|POST)/.test(name)))(
    'on %s prevents overwriting another change',
    async (name) => {
      const { path, call, done } = await aChange(name)
      const seen = await tagOf(path)

      const other: Change['call'] = /tenant/.test(name)
        ? ['PATCH', '/api/tenant/name', { name: `Name ${Math.random()}` }]
        : call
      expect((await harness.tenant.ask(...other)).status).toBe(done)
      expect((await ask(call, seen)).status).toBe(412)
    },
  )

  test('compares the SIM but not its usage', async () => {
    const sim = await anActiveSim(harness, harness.tenant)
    const seen = await tagOf(`/api/sims/${sim.id}`)
    await used(harness, harness.tenant, sim.id, { bytesUp: 5 })

    expect(await tagOf(`/api/sims/${sim.id}`)).not.toBe(seen)
    expect((await ask(['PATCH', `/api/sims/${sim.id}/tag`, { tag: 'x' }], seen)).status).toBe(200)
  })

  test('lets one of two concurrent changes through', async () => {
    const path = `/api/pools/${await aPool(harness.tenant)}`
    const seen = await tagOf(path)

    const answers = await Promise.all(
      ['One', 'Two'].map((name) => ask(['PUT', path, { name: `Pool ${name}`, watchdogMode: 0 }], seen)),
    )

    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 412])
  })

  test('on an unknown pool answers 404', async () => {
    const answer = await ask(['DELETE', '/api/pools/4711000'], '"1.x"')
    expect(answer).toMatchObject({ status: 404, body: { code: 'pool_not_found' } })
  })
})
