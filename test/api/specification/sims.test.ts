/** Service document, sections 4.3, 2.4 and 3. */
import { beforeAll, describe, expect, test } from 'vitest'
import { aBridge } from '../../setup/bridge.ts'
import { anActiveSim, aPool, aSim, aTariff, aTenant, NOON, provisioned, useHarness } from '../harness.ts'
import { BAD_LOG_QUERIES, ids, inactive, letters, logQueries, moved, used, useLog, workOff } from './estate.ts'
import { expectLabels, expectPage, expectShape, SIM, SIM_WITHOUT_TARIFF } from './shape.ts'

const harness = useHarness()
const bridge = await aBridge()
const ask = (method: string, path: string, body?: unknown) => harness.tenant.ask(method, `/api/sims${path}`, body)
const get = async (id: number) => (await ask('GET', `/${id}`)).body
const titles = async (): Promise<string[]> => {
  const { body } = await harness.tenant.ask('GET', '/api/events')
  return body.data.map(({ title }: { title: string }) => title)
}

describe('SIM lists', () => {
  let poolId: number
  const sims: Record<string, number> = {}
  beforeAll(async () => {
    const { other } = harness
    poolId = await aPool(other)
    sims.odd = (await aSim(other, { iccid: '8944500109000000001', tag: '100%_sure\\' })).id
    sims.Pump = (await aSim(other, { iccid: '8944500109000000002', tag: 'Pump', imsi: '262015550001' })).id
    sims.pumping = (await anActiveSim(harness, other, { poolId }, { tag: 'pumping', msisdn: '+49170999' })).id
    sims.resting = (await aSim(other, { tag: 'resting' })).id
    await provisioned(harness, other, sims.resting, {})
    await aSim(harness.tenant, { tag: 'Pump of ours' })
  })
  const found = async (query: string) => {
    const { body } = await harness.other.ask('GET', `/api/sims?${query.replace('POOL', `${poolId}`)}`)
    const names = new Map(Object.entries(sims).map(([name, id]) => [id, name]))
    return ids(body).map((id) => names.get(id))
  }

  test('4.3 GET /api/sims: pages the tenant’s SIMs by id', async () => {
    const { status, body } = await harness.other.ask('GET', '/api/sims')

    expect(status).toBe(200)
    expect(ids(body)).toEqual(Object.values(sims))
    const [odd, pump, pumping, resting] = body.data
    expectPage({ ...body, data: [odd, pump, resting] }, SIM_WITHOUT_TARIFF)
    expectPage({ ...body, data: [pumping] }, SIM)
    expect(body.data[2]).toEqual((await harness.other.ask('GET', `/api/sims/${sims.pumping}`)).body)
  })

  test.each([
    ['search=PUMP', ['Pump', 'pumping']],
    ['search=%25', ['odd']],
    ['search=_', ['odd']],
    ['search=%5C', ['odd']],
    ['search=9000000001', ['odd']],
    ['search=5550001', ['Pump']],
    ['search=%2B49170', ['pumping']],
    ['search=', ['odd', 'Pump', 'pumping', 'resting']],
    ['search=%20Pump%20', ['Pump', 'pumping']],
    ['search=nothing', []],
    ['status=0', ['odd', 'Pump']],
    ['status=1', ['pumping']],
    ['status=2', ['resting']],
    ['status=2&search=pump', []],
    ['status=0&search=pump', ['Pump']],
    ['poolId=POOL', ['pumping']],
    ['poolId=POOL&status=0', []],
    ['poolId=9007199254740991', []],
    ['pageSize=1', ['odd']],
    ['pageSize=1&page=2', ['Pump']],
    ['pageSize=3&page=2', ['resting']],
    ['pageSize=2&page=3', []],
  ])('4.3 GET /api/sims: query ?%s finds %j', async (query, names) => {
    expect(await found(query)).toEqual(names)
  })

  test.each([
    ['status=3', 'status'],
    ['status=Active', 'status'],
    ['poolId=0', 'poolId'],
    ['poolId=x', 'poolId'],
  ])('4.3 GET /api/sims: ?%s is 400 and names %s', async (query, parameter) => {
    const answer = await ask('GET', `?${query}`)

    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request', errors: [{ parameter }] } })
  })
})

describe('the log of a SIM', () => {
  const log = useLog(harness)

  test.each(logQueries('sim'))('4.3 GET /api/sims/{id}/watchdog-logs: query ?%s finds %j', async (query, found) => {
    expect(letters((await ask('GET', `/${log.simId}/watchdog-logs?${query}`)).body)).toBe(found)
  })

  test.each(BAD_LOG_QUERIES)(
    '4.3 GET /api/sims/{id}/watchdog-logs: ?%s is 400 and names %s',
    async (query, parameter) => {
      const answer = await ask('GET', `/${log.simId}/watchdog-logs?${query}`)

      expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request', errors: [{ parameter }] } })
    },
  )
})

describe('a SIM', () => {
  test('4.3 GET /api/sims/{id} + 4.3 GET /api/sims/{iccid} + 2.4 SIM: has the same fields by id and ICCID', async () => {
    const { id, iccid } = await aSim(harness.tenant)

    const byId = await ask('GET', `/${id}`)
    const byIccid = await ask('GET', `/${iccid}`)

    expect([byId.status, byIccid.status]).toEqual([200, 200])
    expectShape(byId.body, SIM_WITHOUT_TARIFF)
    expect(byIccid.body).toEqual(byId.body)
    expect(byId.body).toEqual({
      id,
      tag: '',
      iccid,
      poolId: null,
      tariffId: null,
      imsi: '',
      msisdn: '',
      imei: '',
      status: 0,
      updatedAt: new Date(NOON).toISOString(),
      provisionedAt: null,
      lastSeenAt: null,
      limitMB: 0,
      usageMB: 0,
      remainingMB: 0,
      isOverage: false,
      overageMB: 0,
      voiceMins: 0,
      smsCount: 0,
      type: 0,
      esimQrPayload: null,
      esimQrDataUrl: null,
      pendingPoolId: null,
      pendingTariffId: null,
      pendingUnassign: false,
      watchdogMode: 1,
      isWatchdogExempt: false,
      warningThresholdPct: null,
      enableBurnRateAlerts: false,
      processingTicket: false,
      processingTicketCount: 0,
      tariff: {},
    })
  })

  test('4.3 GET /api/sims/{id} + 2.4 SIM: shows imported fields and watchdog settings', async () => {
    const own = { iccid: '8944500109000000777', imsi: '262015557777', msisdn: '+491701234567', tag: 'Pump', type: 1 }
    const { id } = await aSim(harness.tenant, own)
    const settings = { watchdogMode: 0, isWatchdogExempt: true, warningThresholdPct: 70, enableBurnRateAlerts: true }

    const was = await get(id)
    await harness.at(NOON + 60_000, () => harness.tenant.inside('PATCH', `/internal/sims/${id}/watchdog`, settings))

    expect(was).toMatchObject({ ...own, isWatchdogExempt: false, warningThresholdPct: null })
    expect(await get(id)).toEqual({ ...was, ...settings, updatedAt: new Date(NOON + 60_000).toISOString() })
  })

  test('4.3 GET /api/sims/{id} + 2.4 SIM: shows SIM state and figures of the cycle', async () => {
    const tariffId = await aTariff(harness.tenant)
    const { id } = await anActiveSim(harness, harness.tenant, { tariffId }, { type: 1 })
    const imei = '490154203237518'
    await used(harness, harness.tenant, id, { bytesDown: 1_500_000_000, voiceSeconds: 30, smsCount: 2, imei })

    const sim = await get(id)

    expectShape(sim, SIM)
    expect(sim).toMatchObject({
      tariffId,
      imei,
      status: 1,
      type: 1,
      provisionedAt: new Date(NOON).toISOString(),
      lastSeenAt: new Date(NOON).toISOString(),
      limitMB: 1000,
      usageMB: 1500,
      remainingMB: 0,
      isOverage: true,
      overageMB: 500,
      voiceMins: 0.5,
      smsCount: 2,
    })
    expect(sim.tariff).toEqual((await harness.tenant.ask('GET', `/api/tariffs/${tariffId}`)).body)
  })

  test('4.3 GET /api/sims/{id} + 2.4 SIM: `tariffId` is its own tariff, `tariff` what governs', async () => {
    const [own, shared] = [await aTariff(harness.tenant, 0), await aTariff(harness.tenant, 1)]
    const poolId = await aPool(harness.tenant, { type: 1, tariffId: shared })
    const inside = await anActiveSim(harness, harness.tenant, { tariffId: own })
    await moved(harness, harness.tenant, inside.id, poolId)

    expect(await get(inside.id)).toMatchObject({ poolId, tariffId: own, tariff: { id: shared, type: 1 } })
  })

  test.each([
    '0',
    '4711000',
    '-1',
    '1.5',
    'abc',
    '98765432109876543',
    '894450010219830482',
    '8944500102198304826',
    '8944500102198304826123',
    '12345678901234567890123',
  ])('4.3 GET /api/sims/{id} + 4.3 GET /api/sims/{iccid}: %s finds no SIM and answers 404', async (segment) => {
    expect(await ask('GET', `/${segment}`)).toMatchObject({ status: 404, body: { code: 'sim_not_found' } })
  })
})

test.each(['pump 7', 'é'.repeat(128), '💧'.repeat(128), ' ', ''])(
  '4.3 PATCH /api/sims/{id}/tag + 8 SIM tag: keeps %j unchanged and changes nothing else',
  async (tag) => {
    const { id } = await aSim(harness.tenant, { tag: 'before' })
    const was = await get(id)

    const answer = await harness.at(NOON + 60_000, () => ask('PATCH', `/${id}/tag`, { tag }))

    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ id })
    expect(await get(id)).toEqual({ ...was, tag, updatedAt: new Date(NOON + 60_000).toISOString() })
  },
)

describe('queued changes', () => {
  test('4.3 POST /api/sims/{id}/queue-unprovision + 3 queue-unprovision: marks the SIM and changes nothing else', async () => {
    const { id } = await anActiveSim(harness, harness.tenant, { poolId: await aPool(harness.tenant) })
    const was = await get(id)

    const answer = await ask('POST', `/${id}/queue-unprovision`)

    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ id })
    expect(await get(id)).toEqual({ ...was, pendingUnassign: true })
  })

  test('4.3 POST /api/sims/{id}/queue-reprovision + 3 queue-reprovision: marks the SIM and changes nothing else', async () => {
    const [poolId, tariffId] = [await aPool(harness.tenant), await aTariff(harness.tenant)]
    const { id } = await anActiveSim(harness, harness.tenant)
    const was = await get(id)

    const both = await ask('POST', `/${id}/queue-reprovision`, { poolId, tariffId })

    expect(both.status).toBe(200)
    expect(both.body).toEqual({ id })
    expect(await get(id)).toEqual({ ...was, pendingPoolId: poolId, pendingTariffId: tariffId })
  })

  test('4.3 POST /api/sims/{id}/queue-reprovision: leaves an omitted field unchanged', async () => {
    const [poolId, tariffId] = [await aPool(harness.tenant), await aTariff(harness.tenant)]
    const { id } = await anActiveSim(harness, harness.tenant)
    const pending = async () => {
      const { pendingPoolId, pendingTariffId } = await get(id)
      return [pendingPoolId, pendingTariffId]
    }

    await ask('POST', `/${id}/queue-reprovision`, { poolId })
    expect(await pending()).toEqual([poolId, null])
    await ask('POST', `/${id}/queue-reprovision`, { tariffId, poolId: null })
    expect(await pending()).toEqual([poolId, tariffId])
    for (const nothing of [{}, { poolId: null, tariffId: null }, undefined]) {
      expect((await ask('POST', `/${id}/queue-reprovision`, nothing)).body).toEqual({ id })
      expect(await pending()).toEqual([poolId, tariffId])
    }
  })

  test('3 queue-unprovision + 3 queue-reprovision: replaces the earlier change, with an event', async () => {
    const { id, iccid } = await anActiveSim(harness, harness.tenant)
    const [poolId, tariffId] = [await aPool(harness.tenant), await aTariff(harness.tenant)]

    await ask('POST', `/${id}/queue-reprovision`, { tariffId })
    await ask('POST', `/${id}/queue-unprovision`)
    const second = await get(id)
    await ask('POST', `/${id}/queue-reprovision`, {})
    const third = await get(id)
    await ask('POST', `/${id}/queue-reprovision`, { poolId })
    const fourth = await get(id)

    expect(second).toMatchObject({ pendingPoolId: null, pendingTariffId: null, pendingUnassign: true })
    expect(third).toMatchObject({ pendingUnassign: true })
    expect(fourth).toMatchObject({ pendingPoolId: poolId, pendingTariffId: null, pendingUnassign: false })
    expect((await titles()).filter((title) => title === `Change queued: SIM ${iccid}`)).toHaveLength(3)
  })

  test('3 queue-unprovision + 3 queue-reprovision: happens at the end of the month, not before', async () => {
    const tenant = await aTenant(harness, 'Month end')
    const [from, to] = [await aPool(tenant), await aPool(tenant, { name: 'Next' })]
    const tariffId = await aTariff(tenant)
    const leaving = await anActiveSim(harness, tenant, { poolId: from })
    const moving = await anActiveSim(harness, tenant, { poolId: from })
    await tenant.ask('POST', `/api/sims/${leaving.id}/queue-unprovision`)
    await tenant.ask('POST', `/api/sims/${moving.id}/queue-reprovision`, { poolId: to, tariffId })
    const read = async ({ id }: { id: number }) => (await tenant.ask('GET', `/api/sims/${id}`)).body
    // The requests of the month end, in its order.
    const range = { afterSimId: 0, throughSimId: Number.MAX_SAFE_INTEGER }
    const apply = (kind: 'unassign' | 'move') =>
      tenant.inside('POST', '/internal/cycles/2026-11/changes/apply', { kind, ...range })
    const asked = () => workOff(harness, tenant, bridge, [leaving.id, moving.id])

    harness.now = Date.UTC(2026, 11, 1) - 1
    const early = [await apply('unassign'), await apply('move')]
    const before = [await read(leaving), await read(moving)]
    const askedEarly = await asked()
    harness.now = Date.UTC(2026, 11, 1)
    await tenant.inside('POST', '/internal/cycles/2026-11/renew')
    const inTime = [await apply('unassign'), await apply('move')]
    const askedInTime = await asked()
    const after = [await read(leaving), await read(moving)]
    const pools = [await tenant.ask('GET', `/api/pools/${from}`), await tenant.ask('GET', `/api/pools/${to}`)]
    harness.now = NOON

    expect(early).toMatchObject(early.map(() => ({ status: 409, body: { code: 'cycle_open' } })))
    expect(before).toMatchObject([
      { status: 1, poolId: from, pendingUnassign: true, processingTicketCount: 0 },
      { status: 1, poolId: from, tariffId: null, pendingPoolId: to, pendingTariffId: tariffId },
    ])
    expect(askedEarly).toEqual([])
    const tickets = inTime.map(({ body }) => body.results[0].ticketId)
    expect(askedInTime).toEqual([
      { ticketId: tickets[0], operation: 'unprovision', iccid: leaving.iccid },
      { ticketId: tickets[1], operation: 'move', iccid: moving.iccid, pool: 'Next', tariff: 'Tariff of type 0' },
    ])
    const nothing = { pendingPoolId: null, pendingTariffId: null, pendingUnassign: false }
    expect(after).toMatchObject([
      { status: 0, poolId: null, tariffId: null, ...nothing },
      { status: 1, poolId: to, tariffId, ...nothing },
    ])
    expect(pools.map(({ body }) => body.totalSimCount)).toEqual([0, 1])
  })

  test('3 queue-unprovision + 3 queue-reprovision: answers 409 for an unprovisioned SIM', async () => {
    const { id } = await aSim(harness.tenant)

    for (const queue of ['queue-unprovision', 'queue-reprovision']) {
      expect(await ask('POST', `/${id}/${queue}`)).toMatchObject({ status: 409, body: { code: 'sim_state_conflict' } })
    }
  })

  test('4.3 POST /api/sims/{id}/queue-reprovision: queues nothing that cannot be assigned', async () => {
    const { id } = await anActiveSim(harness, harness.tenant)
    const old = await aTariff(harness.tenant)
    await inactive(harness.tenant, old)
    const refused = async (body: object) => {
      const answer = await ask('POST', `/${id}/queue-reprovision`, body)
      return [answer.status, answer.body.code]
    }

    expect(await refused({ poolId: 99_999 })).toEqual([404, 'pool_not_found'])
    expect(await refused({ poolId: await aPool(harness.other) })).toEqual([404, 'pool_not_found'])
    expect(await refused({ tariffId: 99_999 })).toEqual([404, 'tariff_not_found'])
    expect(await refused({ tariffId: await aTariff(harness.other) })).toEqual([404, 'tariff_not_found'])
    expect(await refused({ tariffId: old })).toEqual([422, 'tariff_inactive'])
    expect(await refused({ tariffId: await aTariff(harness.tenant, 1) })).toEqual([422, 'tariff_needs_pool'])
    expect(await get(id)).toMatchObject({ pendingPoolId: null, pendingTariffId: null })
  })

  test('4.3 POST /api/sims/{id}/queue-reprovision: accepts a Dynamic pool with its tariff', async () => {
    const tariffId = await aTariff(harness.tenant, 1)
    const poolId = await aPool(harness.tenant, { type: 1, tariffId })
    const { id: simId } = await aSim(harness.tenant)
    await provisioned(harness, harness.tenant, simId, {})

    expect((await ask('POST', `/${simId}/queue-reprovision`, { tariffId, poolId })).status).toBe(200)
  })
})

test('4.3 GET /api/sims/metadata: has the codes of type and status only', async () => {
  expectLabels(await ask('GET', '/metadata'), {
    type: { 0: 'Physical SIM', 1: 'eSIM' },
    status: { 0: 'Unprovisioned', 1: 'Active', 2: 'Suspended' },
  })
})
