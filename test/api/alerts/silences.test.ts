import { describe, expect, test } from 'vitest'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import { evaluationOptions, watch } from '../../service/harness.ts'
import { asShipped, only } from '../../service/watchdog/alert-world.ts'
import { anActiveSim, aPool, times, useHarness } from '../harness.ts'
import { used } from '../specification/estate.ts'

const harness = useHarness()
const reason = 'The meter is replaced'

describe('POST /internal/silences', () => {
  test.each([
    ['nothing to match', { lasts: 'PT1H' }, 'expected at least one'],
    ['neither end nor length', { rule: 'sim-*' }, 'got neither, expected endsAt or lasts'],
    ['both', { rule: 'sim-*', lasts: 'PT1H', endsAt: '2026-11-30T00:00:00Z' }, 'got both'],
    [
      'times of no zone',
      { rule: 'sim-*', times: [{ from: '22:00', to: '06:00' }], timeZone: 'Moon' },
      'timeZone: got Moon',
    ],
    [
      'an offset for a zone',
      { rule: 'sim-*', times: [{ from: '22:00', to: '06:00' }], timeZone: '+02:00' },
      'timeZone',
    ],
    ['a zone without times', { rule: 'sim-*', lasts: 'PT1H', timeZone: 'Europe/Berlin' }, 'without times'],
    ['a time that no clock shows', { rule: 'sim-*', times: [{ from: '24:00', to: '06:00' }] }, '/times/0/from'],
    ['more than 90 days', { rule: 'sim-*', lasts: 'P91D' }, 'lasts: got P91D'],
    ['an end that has passed', { rule: 'sim-*', endsAt: '2020-01-01T00:00:00Z' }, 'endsAt: got 2020-01-01T00:00:00Z'],
  ])('refuses %s', async (_what, body, detail) => {
    const { status, body: problem } = await harness.tenant.inside('POST', '/internal/silences', { ...body, reason })

    expect([status, problem.code]).toEqual([400, 'invalid_request'])
    expect(problem.detail).toContain(detail)
  })

  test('refuses more than a tenant may have', async () => {
    const add = () => harness.other.inside('POST', '/internal/silences', { rule: 'sim-*', lasts: 'PT1H', reason })
    await times(200, add)
    const { status, body } = await add()
    const [{ id }] = (await harness.other.inside('GET', '/internal/silences?open=true&pageSize=1')).body.data
    await harness.other.inside('POST', `/internal/silences/${id}/end`)

    expect([status, body.code]).toEqual([409, 'silence_limit'])
    expect(await add()).toMatchObject({ status: 200 })
  })

  test('may hold at times of the week, without an end', async () => {
    const time = { days: [1, 2], from: '22:00', to: '06:00' }
    const { body } = await harness.tenant.inside('POST', '/internal/silences', { rule: 'sim-*', times: [time], reason })
    const { data } = (await harness.tenant.inside('GET', '/internal/silences?open=true')).body
    await harness.tenant.inside('POST', `/internal/silences/${body.id}/end`)

    expect(data[0]).toMatchObject({ id: body.id, times: [time], timeZone: 'UTC', endsAt: null })
  })

  test('says who began and ended it', async () => {
    const silence = { rule: 'sim-silent', lasts: 'PT1H', reason }
    const { body } = await harness.tenant.inside('POST', '/internal/silences', silence)
    const end = () => harness.tenant.inside('POST', `/internal/silences/${body.id}/end`)
    const ends = [(await end()).status, (await end()).status]
    const { data } = (await harness.tenant.inside('GET', '/internal/silences?open=false')).body

    expect(ends).toEqual([200, 200])
    const key = expect.stringMatching(/^key:/)
    expect(data[0]).toMatchObject({
      id: body.id,
      reason,
      createdBy: key,
      endedBy: key,
      createdByName: 'tests',
      endedByName: 'tests',
    })
  })
})

describe('GET /internal/alerts', () => {
  test('shows what fires, whether it was told, and until when it is silenced', async () => {
    const { tenant, store } = harness
    await activateRules(store, only({ 'sim-usage-warning': asShipped, 'sim-never-seen': asShipped }), 'the tests')
    const poolId = await aPool(tenant, { warningThresholdPct: 80 })
    const { id: sim } = await anActiveSim(harness, tenant, { poolId })
    const list = async (query = '') => (await tenant.inside('GET', `/internal/alerts?simId=${sim}${query}`)).body.data
    await tenant.inside('POST', '/internal/silences', { simId: sim, endsAt: '2099-01-01T00:00:00Z', reason })
    await tenant.inside('POST', '/internal/silences', { simId: sim, lasts: 'P1D', reason })
    await used(harness, tenant, sim, { bytesDown: 900_000_000 })
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
