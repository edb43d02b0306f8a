import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { inTenant } from '../../store/tenancy.ts'
import { anIccid, aPool, aSim, aTariff, provisioned, useHouse } from './house.ts'

const house = useHouse()
const get = async (id: number) => (await house.tenant.ask('GET', `/api/sims/${id}`)).body
const titles = async (): Promise<string[]> => {
  const { body } = await house.tenant.ask('GET', '/api/events')
  return body.data.map(({ title }: { title: string }) => title)
}
const due = (id: number) =>
  inTenant(house.ground, house.tenant.id, async (tx) => {
    const { rows } = await sql<{ subject_kind: number }>`
      select subject_kind from due_subjects where subject_id = ${id} order by subject_kind`.execute(tx.q)
    return rows.map((row) => row.subject_kind)
  })

describe('import', () => {
  test('a bad record rejects itself, not the rest', async () => {
    const [first, second] = [anIccid(), anIccid()]
    const sims = [
      { iccid: first },
      { iccid: '12' },
      { iccid: first },
      'text',
      { iccid: second, colour: 'red' },
      { iccid: second, type: 1 },
    ]

    const { status, body } = await house.tenant.inside('POST', '/internal/sims', { sims })

    expect(status).toBe(200)
    expect(body.created.map(({ iccid }: { iccid: string }) => iccid)).toEqual([first, second])
    expect(body.rejected.map(({ index, code }: { index: number; code: string }) => [index, code])).toEqual([
      [1, 'invalid_request'],
      [2, 'sim_exists'],
      [3, 'invalid_request'],
      [4, 'invalid_request'],
    ])
    expect(body.rejected[0].detail).toContain('iccid')
  })

  test('sent again it adds only what is missing; an ICCID is one line in the world', async () => {
    const [known, fresh] = [anIccid(), anIccid()]
    await house.tenant.inside('POST', '/internal/sims', { sims: [{ iccid: known }] })

    const again = await house.tenant.inside('POST', '/internal/sims', { sims: [{ iccid: known }, { iccid: fresh }] })
    const theirs = await house.other.inside('POST', '/internal/sims', { sims: [{ iccid: known }] })

    expect(again.body.created.map(({ iccid }: { iccid: string }) => iccid)).toEqual([fresh])
    expect(theirs.body).toMatchObject({ created: [], rejected: [{ index: 0, code: 'sim_exists' }] })
  })

  test('CSV and NDJSON say the same as JSON', async () => {
    const [a, b, c] = [anIccid(), anIccid(), anIccid()]
    const csv = `iccid,tag,type,warningThresholdPct,isWatchdogExempt\r\n${a},"Pump, north",1,75,TRUE\r\n${b},,,,\r\n`
    const ndjson = `{"iccid":"${c}","tag":"Three"}\n\nnot json\n`

    const first = await house.tenant.inside('POST', '/internal/sims', csv, {
      'content-type': 'text/csv; charset=utf-8',
    })
    const second = await house.tenant.inside('POST', '/internal/sims', ndjson, {
      'content-type': 'application/x-ndjson',
    })

    expect(first.body.rejected).toEqual([])
    expect(await get(first.body.created[0].id)).toMatchObject({
      tag: 'Pump, north',
      type: 1,
      warningThresholdPct: 75,
      isWatchdogExempt: true,
    })
    expect(await get(first.body.created[1].id)).toMatchObject({ tag: '', type: 0, warningThresholdPct: null })
    expect(second.body).toMatchObject({ created: [{ iccid: c }], rejected: [{ index: 1 }] })
  })

  test('CSV that cannot be read is refused as a whole', async () => {
    const answer = await house.tenant.inside('POST', '/internal/sims', 'iccid,tag\n"open', {
      'content-type': 'text/csv',
    })

    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
  })
})

describe('tag', () => {
  test('is set, and taken off by an empty one', async () => {
    const { id } = await aSim(house.tenant)

    const set = await house.tenant.ask('PATCH', `/api/sims/${id}/tag`, { tag: 'é'.repeat(128) })
    const shown = await get(id)
    await house.tenant.ask('PATCH', `/api/sims/${id}/tag`, { tag: '' })

    expect(set).toMatchObject({ status: 200, body: { id } })
    expect(shown.tag).toBe('é'.repeat(128))
    expect((await get(id)).tag).toBe('')
  })

  test.each([{ tag: 'x'.repeat(129) }, { tag: null }, {}, { tag: 5 }])('%j is refused', async (body) => {
    const { id } = await aSim(house.tenant)

    expect(await house.tenant.ask('PATCH', `/api/sims/${id}/tag`, body)).toMatchObject({ status: 400 })
  })
})

describe('queued changes', () => {
  test('the last wins and says so in an event', async () => {
    const { id, iccid } = await aSim(house.tenant)
    const poolId = await aPool(house.tenant)
    const tariffId = await aTariff(house.tenant)
    await provisioned(house, house.tenant, id, { poolId })

    await house.tenant.ask('POST', `/api/sims/${id}/queue-reprovision`, { tariffId, poolId: null })
    const first = await get(id)
    await house.tenant.ask('POST', `/api/sims/${id}/queue-unprovision`)
    const second = await get(id)
    await house.tenant.ask('POST', `/api/sims/${id}/queue-reprovision`, {})
    const third = await get(id)
    await house.tenant.ask('POST', `/api/sims/${id}/queue-reprovision`, { poolId })
    const fourth = await get(id)

    expect(first).toMatchObject({ pendingPoolId: null, pendingTariffId: tariffId, pendingUnassign: false })
    expect(second).toMatchObject({ pendingPoolId: null, pendingTariffId: null, pendingUnassign: true })
    expect(third).toMatchObject({ pendingUnassign: true })
    expect(fourth).toMatchObject({ pendingPoolId: poolId, pendingTariffId: null, pendingUnassign: false })
    expect((await titles()).filter((title) => title === `Change queued: SIM ${iccid}`)).toHaveLength(3)
  })

  test('no body changes nothing', async () => {
    const { id } = await aSim(house.tenant)
    await provisioned(house, house.tenant, id, {})

    const answer = await house.tenant.ask('POST', `/api/sims/${id}/queue-reprovision`)

    expect(answer).toMatchObject({ status: 200, body: { id } })
    expect(await get(id)).toMatchObject({ pendingPoolId: null, pendingTariffId: null })
  })

  test.each([
    ['a pool nobody has', { poolId: 99_999 }, 404, 'pool_not_found'],
    ['a tariff nobody has', { tariffId: 99_999 }, 404, 'tariff_not_found'],
    ['a field that is none', { pool: 1 }, 400, 'invalid_request'],
  ])('%s is refused', async (_what, body, status, code) => {
    const { id } = await aSim(house.tenant)
    await provisioned(house, house.tenant, id, {})

    expect(await house.tenant.ask('POST', `/api/sims/${id}/queue-reprovision`, body)).toMatchObject({
      status,
      body: { code },
    })
  })

  test('outside a pool only a Standard tariff can be queued; with a pool any', async () => {
    const { id } = await aSim(house.tenant)
    const tariffId = await aTariff(house.tenant, 1)
    const poolId = await aPool(house.tenant, { type: 1, tariffId })
    await provisioned(house, house.tenant, id, {})

    const outside = await house.tenant.ask('POST', `/api/sims/${id}/queue-reprovision`, { tariffId })
    const inside = await house.tenant.ask('POST', `/api/sims/${id}/queue-reprovision`, { tariffId, poolId })

    expect(outside).toMatchObject({ status: 422, body: { code: 'tariff_needs_pool' } })
    expect(inside.status).toBe(200)
  })
})

describe('watchdog settings', () => {
  test('are inherited from the pool; an own mode only weakens', async () => {
    const { id } = await aSim(house.tenant)
    const poolId = await aPool(house.tenant, { watchdogMode: 1, warningThresholdPct: 90, enableBurnRateAlerts: true })
    await provisioned(house, house.tenant, id, { poolId })
    const set = (body: Record<string, unknown>) => house.tenant.inside('PATCH', `/internal/sims/${id}/watchdog`, body)

    const inherited = await get(id)
    await set({ watchdogMode: 2, warningThresholdPct: 50 })
    const stronger = await get(id)
    await set({ watchdogMode: 0, enableBurnRateAlerts: false, isWatchdogExempt: true })
    const weaker = await get(id)
    await set({ watchdogMode: null, warningThresholdPct: null, enableBurnRateAlerts: null, isWatchdogExempt: null })
    const again = await get(id)

    expect(inherited).toMatchObject({ watchdogMode: 1, warningThresholdPct: 90, enableBurnRateAlerts: true })
    expect(stronger).toMatchObject({ watchdogMode: 1, warningThresholdPct: 50, enableBurnRateAlerts: true })
    expect(weaker).toMatchObject({ watchdogMode: 0, warningThresholdPct: 50, enableBurnRateAlerts: false })
    expect(weaker.isWatchdogExempt).toBe(true)
    expect(again).toMatchObject({
      watchdogMode: 1,
      warningThresholdPct: 90,
      enableBurnRateAlerts: true,
      isWatchdogExempt: true,
    })
  })

  test('a change has the SIM and its pool evaluated, and is an event', async () => {
    const { id, iccid } = await aSim(house.tenant)
    await provisioned(house, house.tenant, id, {})
    await inTenant(house.ground, house.tenant.id, (tx) => sql`delete from due_subjects`.execute(tx.q))
    house.bells.length = 0

    await house.tenant.inside('PATCH', `/internal/sims/${id}/watchdog`, { isWatchdogExempt: true })

    expect(await due(id)).toEqual([1])
    expect(house.bells).toEqual([{ queue: 'evaluate', tenantId: house.tenant.id }])
    expect(await titles()).toContain(`Watchdog changed: SIM ${iccid}`)
  })
})

describe('SIMs of a pool', () => {
  test('are summaries with exactly their fields', async () => {
    const { id, iccid } = await aSim(house.tenant, { tag: 'In' })
    const poolId = await aPool(house.tenant, { watchdogMode: 2 })
    await provisioned(house, house.tenant, id, { poolId })

    const { body } = await house.tenant.ask('GET', `/api/pools/${poolId}/sims`)
    const pool = await house.tenant.ask('GET', `/api/pools/${poolId}`)

    const expected = {
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
      warningThresholdPct: null,
      enableBurnRateAlerts: null,
    }
    expect(body).toEqual([expected])
    expect(Object.keys(body[0])).toEqual(Object.keys(expected))
    expect(pool.body).toMatchObject({ activeSimCount: 0, totalSimCount: 1 })
  })

  test("a SIM shows the tariff that governs it: the pool's, or its own", async () => {
    const own = await aTariff(house.tenant, 0)
    const shared = await aTariff(house.tenant, 1)
    const poolId = await aPool(house.tenant, { type: 1, tariffId: shared })
    const { id: inside } = await aSim(house.tenant)
    const { id: outside } = await aSim(house.tenant)
    await provisioned(house, house.tenant, inside, { poolId, tariffId: own })
    await provisioned(house, house.tenant, outside, { tariffId: own })

    expect(await get(inside)).toMatchObject({ tariffId: own, tariff: { id: shared, type: 1, isActive: true } })
    expect(await get(outside)).toMatchObject({ tariffId: own, tariff: { id: own, dynamicPoolTariff: null } })
  })
})

describe('tickets of the internal interface', () => {
  test('say who asked, and how far they are', async () => {
    const { id: simId } = await aSim(house.tenant)
    const cause = { by: 'workflow', workflowId: 'provision-and-activate:t:1' }

    const made = await house.tenant.inside('POST', '/internal/tickets/provision', { simId, tag: 'Later', cause })
    const { body } = await house.tenant.inside('GET', `/internal/tickets/${made.body.id}`)

    expect(body).toEqual({
      id: made.body.id,
      simId,
      type: 2,
      status: 0,
      created: expect.any(String),
      provisioningInfo: { pendingPoolId: null, pendingTariffId: null, pendingUnassign: false, pendingTag: 'Later' },
      attempts: 0,
      nextAttemptAt: body.created,
      failureCode: null,
      failureText: null,
      finishedAt: null,
      cause,
    })
  })

  test('a cause that is none is refused in one line', async () => {
    const answer = await house.tenant.inside('POST', '/internal/tickets/suspend', { simId: 1, cause: { by: 'chance' } })

    expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer: '/cause' }] } })
    expect(answer.body.errors).toHaveLength(1)
  })

  test('a provisioned SIM is moved at a boundary only', async () => {
    const { id: simId } = await aSim(house.tenant)
    const poolId = await aPool(house.tenant)
    await provisioned(house, house.tenant, simId, {})

    const person = await house.tenant.inside('POST', '/internal/tickets/provision', { simId, poolId })
    const monthEnd = await house.tenant.inside('POST', '/internal/tickets/provision', {
      simId,
      poolId,
      cause: { by: 'month-end', cycle: '2026-10' },
      effectiveAt: '2026-11-01T00:00:00Z',
    })

    expect(person).toMatchObject({ status: 409, body: { code: 'sim_already_assigned' } })
    expect(monthEnd.status).toBe(200)
  })
})
