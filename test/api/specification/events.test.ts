/** Service document, sections 4.8, 2.9 and 6. */
import { beforeAll, expect, test } from 'vitest'
import { insertEvent } from '../../../store/events.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { anActiveSim, aSim, NOON, type Tenant, useHarness } from '../harness.ts'
import { EVENT, expectLabels, expectPage, expectShape } from './shape.ts'

const harness = useHarness()
const DAY = 24 * 3_600_000

beforeAll(async () => {
  const at = (tenant: Tenant, instant: number, type: 0 | 1 | 2, severity: 0 | 1 | 2, title: string) => {
    const event = { type, severity, title, description: `Told of ${title.length} %_` }
    return harness.at(instant, () => inTenant(harness.store, tenant.id, (tx) => insertEvent(tx, event)))
  }
  await at(harness.tenant, NOON - DAY, 0, 0, 'first')
  await at(harness.tenant, NOON, 1, 1, 'second')
  await at(harness.tenant, NOON, 2, 2, 'third')
  await at(harness.tenant, NOON + DAY / 2, 1, 2, 'FOURTH')
  await at(harness.other, NOON, 0, 0, 'theirs')
})
const list = (query: string) => harness.tenant.ask('GET', `/api/events?${query}`)
const titles = (body: { data: { title: string }[] }) => body.data.map(({ title }) => title)

test('4.8 GET /api/events + 2.9 Event: lists events newest first, with exactly their fields', async () => {
  const { status, body } = await list('')

  expect(status).toBe(200)
  expectPage(body, EVENT)
  expect(titles(body)).toEqual(['FOURTH', 'third', 'second', 'first'])
  expect(body.data[3]).toEqual({
    id: expect.any(Number),
    type: 0,
    severity: 0,
    title: 'first',
    description: 'Told of 5 %_',
    date: new Date(NOON - DAY).toISOString(),
  })
})

test.each([
  ['searchTerm=fourth', ['FOURTH']],
  ['searchTerm=TOLD', ['FOURTH', 'third', 'second', 'first']],
  ['searchTerm=of%206', ['FOURTH', 'second']],
  ['searchTerm=%25_', ['FOURTH', 'third', 'second', 'first']],
  ['searchTerm=_%25', []],
  ['searchTerm=', ['FOURTH', 'third', 'second', 'first']],
  ['date=2026-11-20', ['third', 'second']],
  ['date=2026-11-20T12:00:00Z', ['FOURTH', 'third', 'second']],
  ['date=2026-11-21T00:00:00.000Z', ['FOURTH']],
  ['severity=0', ['first']],
  ['severity=1', ['second']],
  ['severity=2', ['FOURTH', 'third']],
  ['type=0', ['first']],
  ['type=1', ['FOURTH', 'second']],
  ['type=2', ['third']],
  ['type=1&severity=1&searchTerm=sec&date=2026-11-20', ['second']],
  ['pageSize=1', ['FOURTH']],
  ['pageSize=2&page=2', ['second', 'first']],
  ['page=7', []],
])('4.8 GET /api/events: query ?%s finds %j', async (query, found) => {
  expect(titles((await list(query)).body)).toEqual(found)
})

test.each([
  ['severity=3', 'severity'],
  ['severity=Info', 'severity'],
  ['type=3', 'type'],
  ['type=1&type=2', 'type'],
  ['date=yesterday', 'date'],
])('4.8 GET /api/events: ?%s is 400 and names %s', async (query, parameter) => {
  expect(await list(query)).toMatchObject({ status: 400, body: { code: 'invalid_request', errors: [{ parameter }] } })
})

test('4.8 GET /api/events/{id} + 2.9 Event: equals the event in the list', async () => {
  const [event] = (await list('')).body.data

  const { status, body } = await harness.tenant.ask('GET', `/api/events/${event.id}`)

  expect(status).toBe(200)
  expectShape(body, EVENT)
  expect(body).toEqual(event)
})

test('4.8 GET /api/events/metadata: has the codes of type and `severty` only', async () => {
  expectLabels(await harness.tenant.ask('GET', '/api/events/metadata'), {
    type: { 0: 'Connectivity', 1: 'Billing', 2: 'Platform' },
    severty: { 0: 'Info', 1: 'Warning', 2: 'Critical' },
  })
})

test('4.8 GET /api/events: records what a caller changes', async () => {
  const { tenant } = harness
  const titlesOf = async (type: number, searchTerm: string) =>
    titles((await list(`type=${type}&searchTerm=${encodeURIComponent(searchTerm)}`)).body)
  const { id, iccid } = await anActiveSim(harness, tenant)
  await tenant.ask('POST', `/api/sims/${id}/queue-unprovision`)
  await tenant.ask('PATCH', '/api/tenant/name', { name: 'Meadow' })
  const { id: fresh, iccid: other } = await aSim(tenant)
  const { body } = await tenant.ask('POST', '/api/tickets/provision', { simId: fresh })
  await tenant.ask('DELETE', `/api/tickets/${body.id}`)

  expect(await titlesOf(0, iccid)).toContain(`Change queued: SIM ${iccid}`)
  expect(await titlesOf(2, 'Tenant changed')).toEqual(['Tenant changed: name'])
  expect(await titlesOf(0, other)).toEqual([`Provision cancelled: SIM ${other}`])
})
