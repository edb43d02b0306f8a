/** Service document, sections 8 and 2.1. The limits of the tenant's name and address are in tenant.test.ts. */
import { beforeAll, describe, expect, test } from 'vitest'
import { insertEvent } from '../../../store/events.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { anIccid, aPool, aSim, aTariff, useHarness } from '../harness.ts'
import { logged } from './estate.ts'
import { expectShape, PAGINATION } from './shape.ts'

const harness = useHarness()
const SMALL = 5
const MANY = 101

/** The lists that come in pages, with their default page size. */
const LISTS = [
  ['/api/pools', 100],
  ['/api/sims', 100],
  ['/api/watchdog/logs', 100],
  ['/api/sims/{sim}/watchdog-logs', 100],
  ['/api/pools/{pool}/watchdog-logs', 100],
  ['/api/events', 100],
  ['/api/orders', 10],
] as const

const inPath = { sim: 0, pool: 0 }
beforeAll(async () => {
  const { tenant } = harness
  const tariffId = await aTariff(tenant)
  for (let i = 0; i < MANY; i++) inPath.pool = await aPool(tenant, { tariffId })
  const sims = Array.from({ length: MANY }, () => ({ iccid: anIccid() }))
  await tenant.inside('POST', '/internal/sims', { sims })
  inPath.sim = (await aSim(tenant)).id
  await logged(
    harness,
    tenant,
    Array.from({ length: MANY }, (_, i) => [inPath.sim, inPath.pool, 0, `entry ${i}`, '2026-11-20T12:00:00Z'] as const),
  )
  await inTenant(harness.store, tenant.id, async (tx) => {
    for (let i = 0; i < MANY; i++) await insertEvent(tx, { type: 0, severity: 0, title: `E${i}`, description: '' })
  })
  for (let i = 0; i < 11; i++) await tenant.ask('POST', '/api/orders', { type: 1, quantity: 1 })
  for (let i = 0; i < SMALL; i++) await aPool(harness.other, { name: `Page ${i}` })
})

const page = (path: string, query = '') => {
  const filled = path.replace('{sim}', `${inPath.sim}`).replace('{pool}', `${inPath.pool}`)
  return harness.tenant.ask('GET', `${filled}?${encodeURI(query)}`)
}
const refused = (parameter: string) => ({ status: 400, body: { code: 'invalid_request', errors: [{ parameter }] } })

describe('pages', () => {
  test.each(LISTS)(
    '8 pageSize on pools, SIMs, watchdog logs, events + 8 pageSize on orders: %s has %i by default, takes 1 to 100 only',
    async (path, byDefault) => {
      for (const size of [1, 2, 100]) {
        const { data, pagination } = (await page(path, `pageSize=${size}`)).body
        expect([data.length, pagination.pageSize]).toEqual([Math.min(size, pagination.totalItems), size])
      }
      const { data, pagination } = (await page(path)).body
      expect([data.length, pagination.pageSize]).toEqual([byDefault, byDefault])
      for (const wrong of ['0', '-1', '101', '1.5', 'x', '1e300', '2,3', '٣', 'NaN', '1&pageSize=2']) {
        expect(await page(path, `pageSize=${wrong}`)).toMatchObject(refused('pageSize'))
      }
    },
  )

  test.each(LISTS)('8 page + 2.1 Pagination envelope: %s starts at page 1 and pages every item', async (path, size) => {
    const first = await page(path)
    const again = await page(path, 'page=1')
    const second = await page(path, 'page=2')
    const empty = await page(path, 'page=&pageSize=')
    const beyond = await page(path, 'page=2147483647')

    expect(Object.keys(first.body)).toEqual(['data', 'pagination'])
    expectShape(first.body.pagination, PAGINATION)
    expect(again.body).toEqual(first.body)
    expect(empty.body).toEqual(first.body)
    const { totalItems } = first.body.pagination
    const envelope = { pageSize: size, totalItems, totalPages: 2 }
    expect(first.body.pagination).toEqual({ page: 1, ...envelope, hasNextPage: true, hasPreviousPage: false })
    expect(second.body.pagination).toEqual({ page: 2, ...envelope, hasNextPage: false, hasPreviousPage: true })
    const last = { page: 2_147_483_647, ...envelope, hasNextPage: false, hasPreviousPage: true }
    expect(beyond.body).toEqual({ data: [], pagination: last })
    const seen = [...first.body.data, ...second.body.data].map(({ id }) => id)
    expect(seen).toHaveLength(totalItems)
    expect(new Set(seen).size).toBe(totalItems)
  })

  test.each(LISTS)('8 page: %s refuses an invalid page', async (path) => {
    for (const wrong of ['0', '-1', '1.5', 'x', '1e300', '9007199254740992', '٣', 'NaN', '1&page=2']) {
      expect(await page(path, `page=${wrong}`)).toMatchObject(refused('page'))
    }
  })

  test.each([
    ['the first', 'pageSize=2', 2, { page: 1, totalPages: 3, hasNextPage: true, hasPreviousPage: false }],
    ['the last', 'pageSize=2&page=3', 1, { page: 3, totalPages: 3, hasNextPage: false, hasPreviousPage: true }],
    ['the only', 'pageSize=5', 5, { page: 1, totalPages: 1, hasNextPage: false, hasPreviousPage: false }],
    ['one past the end', 'pageSize=2&page=9', 0, { page: 9, totalPages: 3, hasNextPage: false, hasPreviousPage: true }],
  ])('2.1 Pagination envelope: %s page has right totals', async (_which, query, items, pagination) => {
    const { body } = await harness.other.ask('GET', `/api/pools?${query}`)

    expect(body.data).toHaveLength(items)
    expect(body.pagination).toMatchObject({ totalItems: SMALL, ...pagination })
  })

  test.each(['/api/sims', '/api/orders?pageSize=100', '/api/watchdog/logs'])(
    '2.1 Pagination envelope: %s without items has no pages',
    async (path) => {
      const { body } = await harness.other.ask('GET', path)

      const none = { totalItems: 0, totalPages: 0, hasNextPage: false, hasPreviousPage: false }
      expect(body).toEqual({ data: [], pagination: { page: 1, pageSize: 100, ...none } })
    },
  )
})

describe('field limits', () => {
  const put = (body: object) => harness.other.ask('PUT', `/api/pools/${inOther.pool}`, { watchdogMode: 0, ...body })
  const inOther = { pool: 0 }
  beforeAll(async () => {
    inOther.pool = await aPool(harness.other)
  })

  test.each(['abc', 'x'.repeat(50), 'é💧ß'])('8 Pool name on update: accepts the name %j', async (name) => {
    expect(await put({ name })).toMatchObject({ status: 200, body: { id: inOther.pool } })
    expect((await harness.other.ask('GET', `/api/pools/${inOther.pool}`)).body.name).toBe(name)
  })

  test.each([1, 100])('8 warningThresholdPct: accepts %i for new and existing pools', async (warningThresholdPct) => {
    const id = await aPool(harness.other, { warningThresholdPct })
    await put({ name: 'Fleet', warningThresholdPct })

    for (const pool of [id, inOther.pool]) {
      expect((await harness.other.ask('GET', `/api/pools/${pool}`)).body).toMatchObject({ warningThresholdPct })
    }
  })
})
