import { describe, expect, test } from 'vitest'
import { aPool, aSim, aTariff, provisioned, useHarness } from '../harness.ts'

const harness = useHarness()
const CYCLE = '2026-11'
const NOBODY = 999_999

describe('GET /internal/sims/{id}/enforcement', () => {
  test('answers for the running cycle by default', async () => {
    const sim = await aSim(harness.tenant)
    const poolId = await aPool(harness.tenant, { tariffId: await aTariff(harness.tenant), watchdogMode: 2 })
    await provisioned(harness, harness.tenant, sim.id, { poolId })
    const read = async (query: string) =>
      (await harness.tenant.inside('GET', `/internal/sims/${sim.id}/enforcement${query}`)).body

    expect(await read('')).toMatchObject({ simId: sim.id, poolId, mode: 2, overLimit: false })
    expect(await read('')).toEqual(await read(`?cycle=${CYCLE}`))
    expect(await read('?cycle=yesterday')).toMatchObject({ status: 404, code: 'cycle_not_found' })
  })
})

describe('POST /internal/watchdog/actions', () => {
  const action = { cycle: CYCLE, rule: null, action: 'suspended', counter: 0, detail: 'd', workflowId: 'w' }

  test('answers 404 for an unknown SIM', async () => {
    const { status, body } = await harness.tenant.inside('POST', '/internal/watchdog/actions', {
      ...action,
      simId: NOBODY,
    })

    expect([status, body.code]).toEqual([404, 'sim_not_found'])
  })

  test('answers 404 for another tenant’s SIM', async () => {
    const { id: simId } = await aSim(harness.other)
    const { status, body } = await harness.tenant.inside('POST', '/internal/watchdog/actions', { ...action, simId })

    expect([status, body.code]).toEqual([404, 'sim_not_found'])
  })

  test('logs a pool with too little to pick once', async () => {
    const poolId = await aPool(harness.tenant, { name: 'meters' })
    const report = { ...action, action: 'tooLittleToPick', poolId, detail: 'it is 3 MB over' }
    const answers = [
      await harness.tenant.inside('POST', '/internal/watchdog/actions', report),
      await harness.tenant.inside('POST', '/internal/watchdog/actions', report),
    ]

    expect(answers.map(({ body }) => body)).toEqual([{ logged: true }, { logged: false }])
    const log = await harness.tenant.ask('GET', `/api/pools/${poolId}/watchdog-logs`)
    expect(log.body.data).toMatchObject([
      { poolId, simId: null, level: 2, message: 'Pool meters stays over its capacity: it is 3 MB over' },
    ])
  })
})

describe('POST /internal/enforcement/permits', () => {
  test('takes 1 to 1000 SIMs', async () => {
    const ask = (count: number) =>
      harness.tenant.inside('POST', '/internal/enforcement/permits', {
        rule: 'sim-overage',
        cycle: CYCLE,
        simIds: Array.from({ length: count }, (_, i) => NOBODY + i),
        workflowId: 'w',
      })

    expect(await ask(1000)).toMatchObject({ status: 404, body: { code: 'sim_not_found' } })
    for (const count of [0, 1001]) {
      expect(await ask(count)).toMatchObject({ status: 400, body: { errors: [{ pointer: '/simIds' }] } })
    }
  })
})
