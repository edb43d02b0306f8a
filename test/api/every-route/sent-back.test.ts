/** Objects sent back as they were read: which operations accept them. docs/interface.md lists the stricter ones. */
import { describe, expect, test } from 'vitest'
import { aPool, aSim, aTariff, useHarness } from '../harness.ts'
import { OPERATIONS } from './calls.ts'

const harness = useHarness()

describe('PUT /api/pools/{id}', () => {
  test.each([
    ['Standard', 0, 0],
    ['Dynamic', 1, 1],
    ['Fixed', 0, 2],
  ] as const)('takes a %s pool as it was read', async (_, type, tariffType) => {
    const tariffId = await aTariff(harness.tenant, tariffType)
    const settings = { name: 'meters', warningThresholdPct: 80, enableBurnRateAlerts: true }
    const id = await aPool(harness.tenant, { type, tariffId, ...settings })
    const url = `/api/pools/${id}`
    const { body: pool } = await harness.tenant.ask('GET', url)

    const unchanged = await harness.tenant.ask('PUT', url, pool)
    const changed = await harness.tenant.ask('PUT', url, { ...pool, watchdogMode: 2 })

    expect([unchanged.status, changed.status]).toEqual([200, 200])
    const shown = { ...pool, watchdogMode: 2, updatedAt: expect.any(String) }
    expect((await harness.tenant.ask('GET', url)).body).toEqual(shown)
  })

  test('ignores fixed fields and refuses unknown ones', async () => {
    const id = await aPool(harness.tenant, { name: 'lamps' })
    const url = `/api/pools/${id}`
    const { body: pool } = await harness.tenant.ask('GET', url)

    const other = { ...pool, id: id + 1, type: 1, tariffId: pool.tariffId + 1, status: 0, limitMB: 5, name: 'lamps 2' }
    const ignored = await harness.tenant.ask('PUT', url, other)
    const misspelt = await harness.tenant.ask('PUT', url, { ...pool, warningTresholdPct: 3 })

    expect(ignored).toMatchObject({ status: 200, body: { id } })
    expect((await harness.tenant.ask('GET', url)).body).toEqual({ ...pool, name: 'lamps 2' })
    expect(misspelt).toMatchObject({ status: 400, body: { errors: [{ pointer: '/warningTresholdPct' }] } })
  })
})

/** The other changes by PUT and PATCH, each with the path that reads the object. */
const ONE_FIELD: Record<string, { read: string; change: string }> = {
  tagSim: { read: '/api/sims/{sim}', change: '/api/sims/{sim}/tag' },
  renameTenant: { read: '/api/tenant', change: '/api/tenant/name' },
  changeBillingEmail: { read: '/api/tenant', change: '/api/tenant/billing-email' },
}

describe('PATCH of one field', () => {
  test('is every change but PUT /api/pools/{id}', () => {
    const changes = OPERATIONS.filter(
      ({ method, path }) => ['PUT', 'PATCH'].includes(method) && path.startsWith('/api/'),
    )

    expect(changes.map(({ operationId }) => operationId).toSorted()).toEqual(
      [...Object.keys(ONE_FIELD), 'updatePool'].toSorted(),
    )
  })

  test.each(Object.entries(ONE_FIELD))('%s refuses the whole object', async (_, { read, change }) => {
    const { id } = await aSim(harness.tenant)
    const at = (path: string) => path.replace('{sim}', String(id))
    const { body } = await harness.tenant.ask('GET', at(read))

    const whole = await harness.tenant.ask('PATCH', at(change), body)

    expect(whole).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
  })
})

test.each([
  ['PATCH', '/internal/tenant/enforcement'],
  ['PUT', '/internal/tenant/notices'],
])('%s %s takes what GET answered', async (method, url) => {
  const { body } = await harness.tenant.inside('GET', url)

  expect(await harness.tenant.inside(method, url, body)).toMatchObject({ status: 200, body })
})
