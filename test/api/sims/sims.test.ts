import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { inTenant } from '../../../store/tenancy.ts'
import { aPool, aSim, provisioned, useHarness } from '../harness.ts'

const harness = useHarness()
const get = async (id: number) => (await harness.tenant.ask('GET', `/api/sims/${id}`)).body
const titles = async (): Promise<string[]> => {
  const { body } = await harness.tenant.ask('GET', '/api/events')
  return body.data.map(({ title }: { title: string }) => title)
}
const due = (id: number) =>
  inTenant(harness.store, harness.tenant.id, async (tx) => {
    const { rows } = await sql<{ subject_kind: number }>`
      select subject_kind from due_subjects where subject_id = ${id} order by subject_kind`.execute(tx.q)
    return rows.map((row) => row.subject_kind)
  })

describe('watchdog settings', () => {
  test('are the SIM’s own, else the pool’s', async () => {
    const { id } = await aSim(harness.tenant)
    const poolId = await aPool(harness.tenant, { watchdogMode: 1, warningThresholdPct: 90, enableBurnRateAlerts: true })
    await provisioned(harness, harness.tenant, id, { poolId })
    const set = (body: Record<string, unknown>) => harness.tenant.inside('PATCH', `/internal/sims/${id}/watchdog`, body)

    const inherited = await get(id)
    await set({ watchdogMode: 2, warningThresholdPct: 50 })
    const stronger = await get(id)
    await set({ watchdogMode: 0, enableBurnRateAlerts: false, isWatchdogExempt: true })
    const weaker = await get(id)
    await set({ watchdogMode: null, warningThresholdPct: null, enableBurnRateAlerts: null, isWatchdogExempt: null })
    const again = await get(id)

    expect(inherited).toMatchObject({ watchdogMode: 1, warningThresholdPct: 90, enableBurnRateAlerts: true })
    expect(stronger).toMatchObject({ watchdogMode: 2, warningThresholdPct: 50, enableBurnRateAlerts: true })
    const exempt = { isWatchdogExempt: true }
    expect(weaker).toMatchObject({ watchdogMode: 0, warningThresholdPct: 50, enableBurnRateAlerts: false, ...exempt })
    expect(again).toMatchObject({ watchdogMode: 1, warningThresholdPct: 90, enableBurnRateAlerts: true, ...exempt })
  })

  test('trigger an evaluation and an event when changed', async () => {
    const { id, iccid } = await aSim(harness.tenant)
    await provisioned(harness, harness.tenant, id, {})
    await inTenant(harness.store, harness.tenant.id, (tx) => sql`delete from due_subjects`.execute(tx.q))
    harness.jobs.length = 0

    await harness.tenant.inside('PATCH', `/internal/sims/${id}/watchdog`, { isWatchdogExempt: true })

    expect(await due(id)).toEqual([1])
    expect(harness.jobs).toEqual([{ queue: 'evaluate', tenantId: harness.tenant.id }])
    expect(await titles()).toContain(`Watchdog changed: SIM ${iccid}`)
  })
})

test('PATCH /api/sims/{id}/tag marks the SIM due: rules may be for some tags only', async () => {
  const { id } = await aSim(harness.tenant)
  await inTenant(harness.store, harness.tenant.id, (tx) => sql`delete from due_subjects`.execute(tx.q))

  expect((await harness.tenant.ask('PATCH', `/api/sims/${id}/tag`, { tag: 'pump' })).status).toBe(200)

  expect(await due(id)).toEqual([1])
})

test('DELETE /internal/sims/{id}/queued-change is idempotent and honours If-Match', async () => {
  const { id, iccid } = await aSim(harness.tenant)
  await provisioned(harness, harness.tenant, id, {})
  await harness.tenant.ask('POST', `/api/sims/${id}/queue-unprovision`)
  const path = `/internal/sims/${id}/queued-change`

  const stale = await harness.tenant.inside('DELETE', path, undefined, { 'if-match': '"1.x"' })
  const first = await harness.tenant.inside('DELETE', path, undefined, { 'x-request-id': 'first-take-back' })
  const again = await harness.tenant.inside('DELETE', path, {}, { 'x-request-id': 'second-take-back' })

  expect(stale.status).toBe(412)
  for (const answer of [first, again]) expect(answer).toMatchObject({ status: 200, body: { id } })
  expect(await get(id)).toMatchObject({ pendingPoolId: null, pendingTariffId: null, pendingUnassign: false })
  expect((await titles()).filter((title) => title === `Change taken back: SIM ${iccid}`)).toHaveLength(1)
  const trail = async (requestId: string) =>
    (await harness.tenant.inside('GET', `/internal/audit?requestId=${requestId}`)).body.data
  expect(await trail('first-take-back')).toMatchObject([
    { subject: 'sim', before: { pendingUnassign: true }, after: { pendingUnassign: false } },
  ])
  expect(await trail('second-take-back')).toEqual([])
})

describe('internal tickets', () => {
  test('show their cause and progress', async () => {
    const { id: simId, iccid } = await aSim(harness.tenant)
    const cause = { by: 'workflow', workflowId: 'provision-and-activate:t:1' }

    const made = await harness.tenant.inside('POST', '/internal/tickets/provision', { simId, tag: 'Later', cause })
    const { body } = await harness.tenant.inside('GET', `/internal/tickets/${made.body.id}`)

    expect(body).toEqual({
      id: made.body.id,
      simId,
      iccid,
      tag: '',
      bulkId: null,
      withdrawnBy: null,
      type: 2,
      status: 0,
      created: expect.any(String),
      provisioningInfo: { pendingPoolId: null, pendingTariffId: null, pendingUnassign: false, pendingTag: 'Later' },
      attempts: 0,
      nextAttemptAt: body.created,
      failureCode: null,
      failureText: null,
      failureDetail: null,
      finishedAt: null,
      cause,
    })
  })

  test('refuse an invalid cause with one fault', async () => {
    const ask = { simId: 1, cause: { by: 'chance' } }
    const answer = await harness.tenant.inside('POST', '/internal/tickets/suspend', ask)

    expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer: '/cause' }] } })
    expect(answer.body.errors).toHaveLength(1)
  })

  test('move a provisioned SIM at a cycle boundary only', async () => {
    const { id: simId } = await aSim(harness.tenant)
    const poolId = await aPool(harness.tenant)
    await provisioned(harness, harness.tenant, simId, {})

    const open = (kind: string, body: object) =>
      harness.tenant.inside('POST', `/internal/tickets/${kind}`, { simId, ...body })

    const person = await open('provision', { poolId })
    const cause = { by: 'month-end', cycle: '2026-10' }
    const monthEnd = await open('provision', { poolId, cause, effectiveAt: '2026-11-01T00:00:00Z' })
    const someday = await open('unassign', { effectiveAt: '2026-11-02T00:00:00Z' })

    expect(someday).toMatchObject({ status: 400, body: { errors: [{ pointer: '/effectiveAt' }] } })
    expect(someday.body.detail).toBe(
      'effectiveAt must be the beginning of a billing cycle, such as 2026-11-01T00:00:00.000Z or 2026-12-01T00:00:00.000Z; got 2026-11-02T00:00:00Z.',
    )
    expect(person).toMatchObject({ status: 409, body: { code: 'sim_already_assigned' } })
    expect(monthEnd.status).toBe(200)
  })
})
