/** Service document, sections 4.2 and 2.3. */
import { describe, expect, test } from 'vitest'
import { anActiveSim, aPool, aSim, aTariff, NOON, provisioned, useHarness } from '../harness.ts'
import { BAD_LOG_QUERIES, complete, ids, inactive, letters, logged, logQueries, used, useLog } from './estate.ts'
import { expectLabels, expectPage, expectShape, POOL, SIM_SUMMARY } from './shape.ts'

const harness = useHarness()
const log = useLog(harness)
const ask = (method: string, path: string, body?: unknown) => harness.tenant.ask(method, `/api/pools${path}`, body)
const get = async (id: number) => (await ask('GET', `/${id}`)).body
const noon = new Date(NOON).toISOString()

describe('pool lists', () => {
  test('4.2 GET /api/pools: pages the tenant’s pools by id', async () => {
    const id = await aPool(harness.tenant)
    const theirs = await aPool(harness.other)

    const { status, body } = await ask('GET', '')

    expect(status).toBe(200)
    expectPage(body, POOL)
    expect(ids(body)).toEqual(ids(body).toSorted((a, b) => a - b))
    expect(ids(body)).not.toContain(theirs)
    expect(body.data.at(-1)).toEqual(await get(id))
  })

  test('4.2 GET /api/pools/{id}/sims: summarizes the SIMs in it now, unpaged', async () => {
    const poolId = await aPool(harness.tenant, { watchdogMode: 2, warningThresholdPct: 70 })
    const active = await anActiveSim(harness, harness.tenant, { poolId }, { tag: 'Active' })
    const left = await anActiveSim(harness, harness.tenant, { poolId })
    const { id, iccid } = await aSim(harness.tenant, { tag: 'In' })
    await provisioned(harness, harness.tenant, id, { poolId })
    await used(harness, harness.tenant, active.id, { bytesDown: 1_250_000_000 })
    await aSim(harness.tenant)
    const leaving = await harness.tenant.inside('POST', '/internal/tickets/unassign', { simId: left.id })
    const before = await ask('GET', `/${poolId}/sims`)
    await complete(harness, harness.tenant, left.id, leaving.body.id)

    const { status, body } = await ask('GET', `/${poolId}/sims`)

    expect(ids({ data: before.body })).toEqual([active.id, left.id, id])
    expect(status).toBe(200)
    expect(ids({ data: body })).toEqual([active.id, id])
    for (const sim of body) expectShape(sim, SIM_SUMMARY)
    expect(body[0]).toMatchObject({
      iccid: active.iccid,
      tag: 'Active',
      status: 1,
      limitMB: 1000,
      usageMB: 1250,
      remainingMB: 0,
      isOverage: true,
      overageMB: 250,
    })
    expect(body[1]).toEqual({
      id,
      iccid,
      tag: 'In',
      status: 2,
      limitMB: 0,
      usageMB: 0,
      remainingMB: 0,
      isOverage: false,
      overageMB: 0,
      watchdogMode: 2,
      isWatchdogExempt: false,
      warningThresholdPct: 70,
      enableBurnRateAlerts: null,
    })
    expect(await get(poolId)).toMatchObject({ activeSimCount: 1, totalSimCount: 2 })
  })

  test('4.2 GET /api/pools/{id}/sims: answers [] for an empty pool', async () => {
    const id = await aPool(harness.tenant)

    expect((await ask('GET', `/${id}/sims`)).body).toEqual([])
  })

  test.each(logQueries('pool'))('4.2 GET /api/pools/{id}/watchdog-logs: query ?%s finds %j', async (query, found) => {
    expect(letters((await ask('GET', `/${log.poolId}/watchdog-logs?${query}`)).body)).toBe(found)
  })

  test.each(BAD_LOG_QUERIES)(
    '4.2 GET /api/pools/{id}/watchdog-logs: ?%s is 400 and names %s',
    async (query, parameter) => {
      const answer = await ask('GET', `/${log.poolId}/watchdog-logs?${query}`)

      expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request', errors: [{ parameter }] } })
    },
  )
})

describe('a pool', () => {
  test('4.2 POST /api/pools + 2.3 Pool: has exactly its fields, null if not given', async () => {
    const tariffId = await aTariff(harness.tenant)

    const made = await ask('POST', '', { type: 0, tariffId, watchdogMode: 1 })
    const { id } = made.body
    const pool = await get(id)

    expect(made.status).toBe(200)
    expect(made.body).toEqual({ id: expect.any(Number) })
    expectShape(pool, POOL)
    expect(pool).toEqual({
      id,
      name: `Pool ${id}`,
      type: 0,
      watchdogMode: 1,
      warningThresholdPct: null,
      enableBurnRateAlerts: null,
      status: 1,
      createdAt: noon,
      updatedAt: noon,
      activatedAt: noon,
      activeSimCount: 0,
      totalSimCount: 0,
      limitMB: 0,
      usageMB: 0,
      isOverage: false,
      remainingMB: 0,
      overageMB: 0,
      voiceMins: 0,
      smsCount: 0,
      tariffId,
      tariff: { id: tariffId, displayName: 'Tariff of type 0', type: 0 },
      daysUntilRenewal: 11,
    })
  })

  test('4.2 POST /api/pools: keeps all fields of the request', async () => {
    const tariffId = await aTariff(harness.tenant, 1)
    const body = { name: 'Fleet', type: 1, watchdogMode: 2, warningThresholdPct: 80, enableBurnRateAlerts: false }

    const made = await ask('POST', '', { ...body, tariffId })

    expect(await get(made.body.id)).toMatchObject({ ...body, tariffId, tariff: { type: 1 } })
  })

  test.each(['x', 'é'.repeat(50)])('4.2 POST /api/pools: accepts the name %j', async (name) => {
    expect((await get(await aPool(harness.tenant, { name }))).name).toBe(name)
  })

  test.each([
    [0, 0, 200],
    [0, 2, 200],
    [1, 1, 200],
    [0, 1, 422],
    [1, 0, 422],
    [1, 2, 422],
  ] as const)('4.2 POST /api/pools: type %i with tariff type %i answers %i', async (type, tariffType, status) => {
    const answer = await ask('POST', '', { type, tariffId: await aTariff(harness.tenant, tariffType), watchdogMode: 0 })

    expect([answer.status, answer.body.code]).toEqual([status, status === 200 ? undefined : 'tariff_pool_mismatch'])
  })

  test('4.2 POST /api/pools: refuses inactive, unknown and other tenants’ tariffs', async () => {
    const [old, theirs] = [await aTariff(harness.tenant), await aTariff(harness.other)]
    await inactive(harness.tenant, old)
    const made = async (tariffId: number) => (await ask('POST', '', { type: 0, tariffId, watchdogMode: 0 })).body.code

    expect(await made(old)).toBe('tariff_inactive')
    expect(await made(theirs)).toBe('tariff_not_found')
    expect(await made(2 ** 40)).toBe('tariff_not_found')
  })

  test('4.2 GET /api/pools/{id} + 2.3 Pool: has the figures of the running cycle', async () => {
    const poolId = await aPool(harness.tenant)
    const sim = await anActiveSim(harness, harness.tenant, { poolId })
    await used(harness, harness.tenant, sim.id, { bytesUp: 1_250_000_000, voiceSeconds: 90, smsCount: 3 })

    const pool = await get(poolId)

    expectShape(pool, POOL)
    expect(pool).toMatchObject({
      activeSimCount: 1,
      totalSimCount: 1,
      limitMB: 1000,
      usageMB: 1250,
      isOverage: true,
      remainingMB: 0,
      overageMB: 250,
      voiceMins: 1.5,
      smsCount: 3,
    })
  })
})

describe('a replaced pool', () => {
  test('4.2 PUT /api/pools/{id}: changes name and settings, nothing else', async () => {
    const id = await aPool(harness.tenant)
    const was = await get(id)
    const to = { name: 'Fleet', watchdogMode: 2, warningThresholdPct: 1, enableBurnRateAlerts: true }

    const answer = await harness.at(NOON + 60_000, () => ask('PUT', `/${id}`, to))

    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ id })
    expect(await get(id)).toEqual({ ...was, ...to, updatedAt: '2026-11-20T12:01:00.000Z' })
  })

  test.each([{}, { warningThresholdPct: null, enableBurnRateAlerts: null }])(
    '4.2 PUT /api/pools/{id}: sets omitted or null fields (%j) to null',
    async (left) => {
      const id = await aPool(harness.tenant, { warningThresholdPct: 80, enableBurnRateAlerts: true })

      const answer = await ask('PUT', `/${id}`, { name: 'Fleet', watchdogMode: 0, ...left })

      expect(answer.body).toEqual({ id })
      const unset = { warningThresholdPct: null, enableBurnRateAlerts: null }
      expect(await get(id)).toMatchObject({ name: 'Fleet', watchdogMode: 0, ...unset })
    },
  )

  test('4.2 PUT /api/pools/{id}: passes the settings to its SIMs at once', async () => {
    const poolId = await aPool(harness.tenant, { watchdogMode: 0 })
    const { id } = await anActiveSim(harness, harness.tenant, { poolId })

    await ask('PUT', `/${poolId}`, { name: 'Fleet', watchdogMode: 2, warningThresholdPct: 60 })

    const settings = { watchdogMode: 2, warningThresholdPct: 60, enableBurnRateAlerts: null }
    expect((await harness.tenant.ask('GET', `/api/sims/${id}`)).body).toMatchObject(settings)
    expect((await ask('GET', `/${poolId}/sims`)).body).toMatchObject([settings])
  })
})

test('4.2 GET /api/pools/metadata: has the codes of status and type only', async () => {
  expectLabels(await ask('GET', '/metadata'), {
    status: { 0: 'Inactive', 1: 'Active' },
    type: { 0: 'Standard', 1: 'Dynamic' },
  })
})

describe('a pool in use', () => {
  const refused = async (id: number, why: string) => {
    const answer = await ask('DELETE', `/${id}`)
    expect(answer).toMatchObject({ status: 409, body: { code: 'pool_in_use' } })
    expect(answer.body.detail).toContain(why)
    expect((await ask('GET', `/${id}`)).status).toBe(200)
  }

  test('4.2 DELETE /api/pools/{id}: is refused while a SIM is in it', async () => {
    const poolId = await aPool(harness.tenant)
    const { id: simId } = await aSim(harness.tenant)
    await provisioned(harness, harness.tenant, simId, { poolId })

    await refused(poolId, '1 SIM in it')
  })

  test('4.2 DELETE /api/pools/{id}: is refused while a SIM is queued for it', async () => {
    const [poolId, other] = [await aPool(harness.tenant), await aPool(harness.tenant)]
    const { id } = await anActiveSim(harness, harness.tenant)
    await harness.tenant.ask('POST', `/api/sims/${id}/queue-reprovision`, { poolId })

    await refused(poolId, '1 SIM queued to move into it')
    await harness.tenant.ask('POST', `/api/sims/${id}/queue-reprovision`, { poolId: other })
    expect((await ask('DELETE', `/${poolId}`)).status).toBe(204)
    await harness.tenant.ask('POST', `/api/sims/${id}/queue-unprovision`)
    expect((await ask('DELETE', `/${other}`)).status).toBe(204)
  })

  test('4.2 DELETE /api/pools/{id}: is refused while a ticket leads into it', async () => {
    const poolId = await aPool(harness.tenant)
    const { id: simId } = await aSim(harness.tenant)
    const ticket = await harness.tenant.ask('POST', '/api/tickets/provision', { simId, poolId })

    await refused(poolId, '1 open ticket into it')
    await harness.tenant.ask('DELETE', `/api/tickets/${ticket.body.id}`)
    expect((await ask('DELETE', `/${poolId}`)).status).toBe(204)
  })
})

describe('a deleted pool', () => {
  test('4.2 DELETE /api/pools/{id}: answers 204, then the pool is gone everywhere', async () => {
    const tariffId = await aTariff(harness.tenant)
    const id = await aPool(harness.tenant, { tariffId })
    const { id: simId } = await aSim(harness.tenant)
    const active = await anActiveSim(harness, harness.tenant)
    const before = (await ask('GET', '')).body.pagination.totalItems

    const answer = await ask('DELETE', `/${id}`)
    const list = await ask('GET', '')

    expect([answer.status, answer.body]).toEqual([204, ''])
    expect(answer.headers['content-type']).toBeUndefined()
    expect(ids(list.body)).not.toContain(id)
    expect(list.body.pagination.totalItems).toBe(before - 1)
    const gone = [
      await ask('GET', `/${id}`),
      await ask('PUT', `/${id}`, { name: 'Back', watchdogMode: 0 }),
      await ask('DELETE', `/${id}`),
      await ask('GET', `/${id}/sims`),
      await ask('GET', `/${id}/watchdog-logs`),
      await harness.tenant.ask('POST', '/api/tickets/provision', { simId, poolId: id }),
      await harness.tenant.ask('POST', `/api/sims/${active.id}/queue-reprovision`, { poolId: id }),
    ]
    expect(gone.map(({ status, body }) => [status, body.code])).toEqual(gone.map(() => [404, 'pool_not_found']))
    expect((await harness.tenant.ask('GET', `/api/sims?poolId=${id}`)).body.data).toEqual([])
    expect(await get(await aPool(harness.tenant, { tariffId }))).not.toMatchObject({ id })
  })

  test('4.2 DELETE /api/pools/{id}: keeps its id in log entries', async () => {
    const { tenant } = harness
    const id = await aPool(tenant)
    await logged(harness, tenant, [[null, id, 1, `z: pool ${id}`, '2026-10-01T00:00:00Z']])

    await ask('DELETE', `/${id}`)

    const { body } = await tenant.ask('GET', `/api/watchdog/logs?poolId=${id}`)
    expect(body.data).toMatchObject([{ poolId: id, message: `z: pool ${id}` }])
  })

  test('4.2 DELETE /api/pools/{id}: charges the pool in its last cycle only', async () => {
    const { other: tenant } = harness
    const del = (id: number) => tenant.ask('DELETE', `/api/pools/${id}`)
    const poolId = await aPool(tenant, { name: 'Bucket', tariffId: await aTariff(tenant, 2) })
    const stays = await aPool(tenant, { name: 'Stays', tariffId: await aTariff(tenant, 2) })
    const sim = await anActiveSim(harness, tenant, { poolId })
    const other = await anActiveSim(harness, tenant, { poolId: stays })
    await used(harness, tenant, sim.id, { bytesDown: 5_000_000, smsCount: 2 })
    expect((await del(poolId)).status).toBe(409)
    const { body } = await tenant.inside('POST', '/internal/tickets/unassign', { simId: sim.id })
    await complete(harness, tenant, sim.id, body.id)
    expect((await del(poolId)).status).toBe(204)

    const closed = async (key: string) => {
      await tenant.inside('POST', `/internal/cycles/${key}/renew`)
      await tenant.inside('POST', `/internal/cycles/${key}/close`)
      const { lines } = (await tenant.inside('GET', `/internal/cycles/${key}/statement`)).body
      return lines.toSorted((a: { kind: string }, b: { kind: string }) => (a.kind < b.kind ? -1 : 1))
    }
    const november = await harness.at(Date.UTC(2026, 11, 2), () => closed('2026-11'))
    const december = await harness.at(Date.UTC(2027, 0, 2), () => closed('2026-12'))

    const of = (lines: { poolId: number }[], id: number) => lines.filter((line) => line.poolId === id)
    expect(of(november, poolId)).toMatchObject([
      { kind: 'pool', poolName: 'Bucket', bytes: 5_000_000, smsCount: 2, feeMicro: 80_000_000 },
      { kind: 'sim', poolName: 'Bucket', simId: sim.id, bytes: 5_000_000, feeMicro: 1_500_000, smsMicro: 100_000 },
    ])
    expect(of(december, poolId)).toEqual([])
    expect(of(december, stays)).toMatchObject([{ kind: 'pool', feeMicro: 80_000_000 }, { simId: other.id }])
  })
})
