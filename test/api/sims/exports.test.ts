import { parse } from 'csv-parse/sync'
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { Sim } from '../../../domain/sims/sim.ts'
import { importSims } from '../../../service/sims/import-sims.ts'
import { insertEvent } from '../../../store/events.ts'
import { KEYSET_PAGE } from '../../../store/keyset-pages.ts'
import { inPlatform, inTenant } from '../../../store/tenancy.ts'
import { anIccid, aPool, aSim, aTariff, NOON, provisioned, useHarness } from '../harness.ts'

const harness = useHarness()
const get = (what: string, query = '', tenant = harness.tenant) =>
  tenant.inside('GET', `/internal/exports/${what}.csv${query}`)
const rowsOf = (csv: string): Record<string, string>[] => parse(csv, { columns: true, record_delimiter: '\r\n' })
const rows = async (what: string, query = '', tenant = harness.tenant) => rowsOf((await get(what, query, tenant)).body)
/** The CSV cells of a resource in a response. */
const rowOf = (of: object) => Object.fromEntries(Object.entries(of).flatMap(([name, value]) => cellsOf(value, name)))
const cellsOf = (value: unknown, name: string): [string, string][] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, item]) => cellsOf(item, `${name}.${key}`))
    : [[name, value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value)]]

let simId: number
let poolId: number
beforeAll(async () => {
  poolId = await aPool(harness.tenant, { name: 'Zähler, "Nord"; Süd' })
  const sim = { tag: '=HYPERLINK("http://x")', msisdn: '+491701234567', imsi: '001010000000017' }
  simId = (await aSim(harness.tenant, sim)).id
  await provisioned(harness, harness.tenant, simId, { poolId })
  await aSim(harness.tenant, { tag: '-5' })
  await aSim(harness.other, { tag: 'Theirs' })
})

describe('GET /internal/exports/sims.csv', () => {
  test('has the public fields without activation codes', async () => {
    const answer = await get('sims')
    const { body } = await harness.tenant.ask('GET', `/api/sims/${simId}`)

    expect(answer.status).toBe(200)
    expect(answer.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8; header=present',
      'content-disposition': 'attachment; filename="sims.csv"',
    })
    const [first, second] = rowsOf(answer.body)
    const { esimQrPayload: _, esimQrDataUrl: __, tariff, ...shown } = body
    expect(first).toEqual({
      ...rowOf(shown),
      tag: `'=HYPERLINK("http://x")`,
      'tariff.id': String(tariff.id),
      'tariff.displayName': tariff.displayName,
      'tariff.type': String(tariff.type),
    })
    expect(Object.keys(first ?? {}).slice(0, 3)).toEqual(Object.keys(Sim.properties).slice(0, 3))
    expect(second).toMatchObject({ tag: '-5', 'tariff.id': '', poolId: '' })
    expect(answer.body).not.toContain('Theirs')
  })

  test('takes the filters of the list', async () => {
    expect(await rows('sims', `?poolId=${poolId}`)).toHaveLength(1)
    expect(await rows('sims', '?search=HYPER&status=2')).toHaveLength(1)
    expect(await rows('sims', '?status=1')).toEqual([])
    expect((await get('sims', '?status=9')).status).toBe(400)
  })

  test('keeps every digit for spreadsheets', async () => {
    const { body } = await get('sims', `?spreadsheet=true&poolId=${poolId}`)

    expect(body.startsWith('\uFEFFid,tag,iccid,')).toBe(true)
    const [row] = rowsOf(body)
    expect(row?.iccid).toMatch(/^="\d{19}"$/)
    expect(row).toMatchObject({ imsi: '="001010000000017"', msisdn: '="+491701234567"', imei: '' })
  })

  test('lists SIMs of several pages once, by id', async () => {
    const count = KEYSET_PAGE * 2 + 1
    const { id } = harness.other
    const sims = Array.from({ length: count }, () => ({ iccid: anIccid() }))
    await inTenant(harness.store, id, (tx) => importSims(tx, sims))

    const found = (await rows('sims', '?search=8944', harness.other)).map((row) => Number(row.id))

    expect(new Set(found).size).toBe(count + 1)
    expect(found).toEqual(found.toSorted((a, b) => a - b))
  })
})

test('GET /internal/exports/pools.csv keeps any text', async () => {
  const [pool] = await rows('pools')
  const { body } = await harness.tenant.ask('GET', `/api/pools/${poolId}`)

  expect(pool).toEqual(rowOf(body))
  expect(pool?.name).toBe('Zähler, "Nord"; Süd')
})

test('exports of tariffs and tickets flatten their objects', async () => {
  const tariffId = await aTariff(harness.tenant, 2)

  const tariff = (await rows('tariffs')).find(({ id }) => id === String(tariffId))
  const [ticket] = await rows('tickets')

  expect(tariff).toMatchObject({ 'fixedPoolTariff.fixedCapacityGb': '100', 'standardTariff.smsFee': '' })
  expect(ticket).toMatchObject({ simId: String(simId), 'provisioningInfo.pendingPoolId': String(poolId) })
})

test('GET /internal/exports/orders.csv takes the filters of the list', async () => {
  await harness.tenant.inside('PUT', '/internal/order-prices', { prices: [{ type: 1, price: 2.5 }] })
  const made = await harness.tenant.ask('POST', '/api/orders', { type: 1, quantity: 3, shippingCity: '@home' })

  const row = { id: String(made.body.id), total: '7.5', shippingCity: "'@home" }
  expect(await rows('orders', '?status=pending')).toMatchObject([row])
  expect(await rows('orders', '?status=Failed')).toEqual([])
  expect((await get('orders', '?status=Lost')).status).toBe(400)
})

describe('exports of events and log entries', () => {
  test('are complete and newest first within one instant', async () => {
    const count = KEYSET_PAGE + 7
    harness.now = NOON + 60_000
    const event = { type: 2, severity: 1, title: 'Many', description: 'of one instant' } as const
    await inTenant(harness.store, harness.tenant.id, async (tx) => {
      for (let i = 0; i < count; i++) await insertEvent(tx, event)
    })
    await inPlatform(harness.store, (tx) =>
      sql`insert into events (tenant_id, type, severity, title, description, at)
          values (null, ${event.type}, ${event.severity}, 'Ours, many', ${event.description}, ${tx.now})`.execute(tx.q),
    )

    const found = await rows('events', '?searchTerm=MANY&severity=1')

    expect(found).toHaveLength(count + 1)
    const ids = found.map(({ id }) => Number(id))
    expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => b - a))
    const date = new Date(harness.now).toISOString()
    const shown = { type: '2', severity: '1', title: 'Ours, many', description: 'of one instant', date }
    expect(found[0]).toEqual({ id: expect.any(String), ...shown })
  })

  test('are a line of columns when empty', async () => {
    expect((await get('watchdog-logs', '?level=2&date=2026-01-01')).body).toBe('id,simId,poolId,level,message,date\r\n')
  })

  test('refuse an invalid filter before sending anything', async () => {
    expect(await get('events', '?date=2026-02-30')).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
  })
})
