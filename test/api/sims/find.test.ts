/** GET /internal/find. What a text may be is in test/unit/domain/find.test.ts. */
import { beforeAll, describe, expect, test } from 'vitest'
import { MOST_NAMED } from '../../../domain/find.ts'
import { luhnOk } from '../../../domain/identifiers.ts'
import { anActiveSim, aPool, aSim, times, useHarness } from '../harness.ts'

const harness = useHarness()
const askFor = (q: string, of = harness.tenant) => of.inside('GET', `/internal/find?q=${encodeURIComponent(q)}`)
const find = async (q: string, of = harness.tenant): Promise<{ kind: string; id: string; matched: string }[]> =>
  (await askFor(q, of)).body.objects

const CARD = { iccid: '8944509902190000012', imsi: '262010000000017', msisdn: '+491715550100', tag: 'Meter 17' }
let sim: { id: number }
let poolId: number
let ticket: string
beforeAll(async () => {
  poolId = await aPool(harness.tenant, { name: 'Meadow, north' })
  sim = await anActiveSim(harness, harness.tenant, { poolId }, CARD)
  ticket = (await harness.tenant.ask('POST', '/api/tickets/suspend', { simId: sim.id })).body.id
})
const theSim = (matched: string) => [{ kind: 'sim', id: String(sim.id), matched, name: CARD.tag }]

test.each([
  ['ICCID in groups', '8944 5099 0219 0000 012', 'iccid'],
  ['ICCID without its check digit', CARD.iccid.slice(0, -1), 'iccid'],
  ['IMSI', ' 262 01 0000000017', 'imsi'],
  ['MSISDN', '0049 171 5550100', 'msisdn'],
  ['MSISDN without its plus', '491715550100', 'msisdn'],
  ['tag', 'Meter 17', 'tag'],
  ['beginning of a tag, in other letters', 'mETER', 'tag'],
])('a SIM is found by its %s', async (_, q, matched) => {
  expect(luhnOk(CARD.iccid)).toBe(true)
  expect(await find(q)).toEqual(theSim(matched))
})

test('others are found by id, and pools by the beginning of their name', async () => {
  const order = await harness.tenant.ask('POST', '/api/orders', { type: 2, quantity: 1 })
  const orderId = order.body.id ?? order.body.orderId

  expect(await find(ticket.toUpperCase())).toEqual([{ kind: 'ticket', id: ticket, matched: 'id', name: CARD.tag }])
  expect(await find('meadow,')).toEqual([{ kind: 'pool', id: String(poolId), matched: 'name', name: 'Meadow, north' }])
  expect(await find(String(orderId))).toContainEqual({ kind: 'order', id: String(orderId), matched: 'id', name: '' })
  expect(await find(String(sim.id))).toContainEqual(theSim('id')[0])
  expect(await find(String(poolId))).toContainEqual(expect.objectContaining({ kind: 'pool', id: String(poolId) }))
})

test.each([
  ['a part of a number', '5099021900'],
  ['a text that a tag does not begin with', '17'.padStart(6)],
  ['signs of a pattern', 'M%'],
  ['signs of a pattern', 'Mete_'],
  ['white space', ' \t'],
  ['a workflow of another tenant', 'suspend-on-overage:other:17:2026-11'],
])('nothing is found by %s', async (_, q) => {
  expect((await find(q)).filter(({ matched }) => matched !== 'id')).toEqual([])
})

test('a deleted pool is not found', async () => {
  const gone = await aPool(harness.tenant, { name: 'Gone' })
  await harness.tenant.ask('DELETE', `/api/pools/${gone}`)

  expect(await find('Gone')).toEqual([])
  expect((await find(String(gone))).filter(({ kind }) => kind === 'pool')).toEqual([])
})

test('another tenant finds none of it', async () => {
  for (const q of [CARD.iccid, CARD.imsi, CARD.msisdn, CARD.tag, 'meadow', ticket, String(sim.id), String(poolId)])
    expect(await find(q, harness.other)).toEqual([])
})

describe('names in their order:', () => {
  test(`the first ${MOST_NAMED}, and whether there are more`, async () => {
    await times(MOST_NAMED, () => aSim(harness.tenant, { tag: 'lamp B' }))
    const { body: all } = await askFor('lamp')
    await aSim(harness.tenant, { tag: 'Lamp A' })
    const { body: first } = await askFor('lamp')

    expect([all.objects.length, all.hasMore]).toEqual([MOST_NAMED, false])
    expect([first.objects.length, first.hasMore]).toEqual([MOST_NAMED, true])
    expect(first.objects[0].name).toBe('Lamp A')
  })

  test('a SIM is found once, first by its number', async () => {
    const { id } = await aSim(harness.tenant, { imsi: '262010000000099', tag: '262010000000099' })

    expect(await find('262010000000099')).toMatchObject([{ id: String(id), matched: 'imsi' }])
  })
})

test('a text that is too long, empty or missing is refused by name', async () => {
  for (const q of ['', 'x'.repeat(301)]) {
    const { status, body } = await askFor(q)
    expect([status, body.errors[0].parameter]).toEqual([400, 'q'])
  }
  expect((await harness.tenant.inside('GET', '/internal/find')).status).toBe(400)
})

test('without Temporal, an id of a workflow gets 503, and the rest is found', async () => {
  expect((await askFor(`suspend-on-overage:${harness.tenant.id}:17:2026-11`)).status).toBe(503)
  expect(await find(CARD.iccid)).toHaveLength(1)
})
