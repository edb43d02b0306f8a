import { describe, expect, test } from 'vitest'
import { TicketType } from '../../../domain/codes.ts'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { complete, evaluationOptions, watch } from '../../service/harness.ts'
import { only } from '../../service/watchdog/alert-world.ts'
import { aPool, aSim, aTariff, provisioned, useHarness } from '../harness.ts'

const harness = useHarness()
const reason = 'The meter is replaced'

describe('POST /internal/silences', () => {
  test.each([
    ['nothing to match', { lasts: 'PT1H' }, 'expected at least one'],
    ['neither end nor length', { rule: 'sim-*' }, 'got neither'],
    ['both', { rule: 'sim-*', lasts: 'PT1H', endsAt: '2026-11-30T00:00:00Z' }, 'got both'],
    ['more than 90 days', { rule: 'sim-*', lasts: 'P91D' }, 'lasts: got P91D'],
    ['an end that has passed', { rule: 'sim-*', endsAt: '2020-01-01T00:00:00Z' }, 'endsAt: got 2020-01-01T00:00:00Z'],
  ])('refuses %s', async (_what, body, detail) => {
    const { status, body: problem } = await harness.tenant.inside('POST', '/internal/silences', { ...body, reason })

    expect([status, problem.code]).toEqual([400, 'invalid_request'])
    expect(problem.detail).toContain(detail)
  })

  test('refuses another tenant’s SIM', async () => {
    const { id: simId } = await aSim(harness.other)
    const body = { simId, lasts: 'PT1H', reason }

    expect(await harness.tenant.inside('POST', '/internal/silences', body)).toMatchObject({ status: 404 })
  })

  test('refuses more than a tenant may have', async () => {
    const add = () => harness.other.inside('POST', '/internal/silences', { rule: 'sim-*', lasts: 'PT1H', reason })
    for (let n = 0; n < 200; n += 1) await add()
    const { status, body } = await add()
    const [{ id }] = (await harness.other.inside('GET', '/internal/silences?open=true&pageSize=1')).body.data
    await harness.other.inside('POST', `/internal/silences/${id}/end`)

    expect([status, body.code]).toEqual([409, 'silence_limit'])
    expect(await add()).toMatchObject({ status: 200 })
  })

  test('says who began and ended it', async () => {
    const { body } = await harness.tenant.inside('POST', '/internal/silences', {
      rule: 'sim-silent',
      lasts: 'PT1H',
      reason,
    })
    const end = () => harness.tenant.inside('POST', `/internal/silences/${body.id}/end`)
    const ends = [(await end()).status, (await end()).status]
    const { data } = (await harness.tenant.inside('GET', '/internal/silences?open=false')).body

    expect(ends).toEqual([200, 200])
    expect(data[0]).toMatchObject({
      id: body.id,
      reason,
      createdBy: expect.stringMatching(/^key:/),
      endedBy: expect.stringMatching(/^key:/),
    })
  })
})

describe('GET /internal/alerts', () => {
  test('shows what fires, whether it was told, and until when it is silenced', async () => {
    const { tenant, store } = harness
    await activateRules(
      store,
      only({ 'sim-usage-warning': () => undefined, 'sim-never-seen': () => undefined }),
      'the tests',
    )
    const poolId = await aPool(tenant, { tariffId: await aTariff(tenant), warningThresholdPct: 80 })
    const { id: sim } = await aSim(tenant)
    await provisioned(harness, tenant, sim, { poolId })
    await inTenant(store, tenant.id, (tx) => complete(tx, { simId: sim, type: TicketType.Activate }))
    const record = { recordId: 'r1', simId: sim, at: new Date(harness.now).toISOString(), bytesDown: 900_000_000 }
    const list = async (query = '') => (await tenant.inside('GET', `/internal/alerts?simId=${sim}${query}`)).body.data
    await tenant.inside('POST', '/internal/silences', { simId: sim, endsAt: '2099-01-01T00:00:00Z', reason })
    await tenant.inside('POST', '/internal/silences', { simId: sim, lasts: 'P1D', reason })
    await tenant.inside('POST', '/internal/usage', { records: [record] })
    await watch(store, evaluationOptions(), tenant.id)

    expect(await list()).toMatchObject([
      {
        rule: 'sim-usage-warning',
        subject: { kind: 'sim', id: sim },
        phase: 'firing',
        times: 1,
        isLogged: true,
        isMailed: false,
        silencedUntil: new Date(harness.now + 86_400_000).toISOString(),
      },
    ])
    expect(await list('&phase=pending')).toEqual([])
  })
})
