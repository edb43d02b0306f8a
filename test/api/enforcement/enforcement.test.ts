import { expect, test } from 'vitest'
import { suspendOnOverageId } from '../../../domain/temporal/ids.ts'
import { aPool, aSim, provisioned, times, useHarness } from '../harness.ts'

const harness = useHarness()
const CYCLE = '2026-11'
const NOBODY = 999_999

test('GET /internal/sims/{id}/enforcement answers for the running cycle by default', async () => {
  const sim = await aSim(harness.tenant)
  const poolId = await aPool(harness.tenant, { watchdogMode: 2 })
  await provisioned(harness, harness.tenant, sim.id, { poolId })
  const read = async (query: string) =>
    (await harness.tenant.inside('GET', `/internal/sims/${sim.id}/enforcement${query}`)).body

  expect(await read('')).toMatchObject({ simId: sim.id, poolId, mode: 2, overLimit: false })
  expect(await read('')).toEqual(await read(`?cycle=${CYCLE}`))
  expect(await read('?cycle=yesterday')).toMatchObject({ status: 404, code: 'cycle_not_found' })
})

test('POST /internal/watchdog/actions logs a pool once', async () => {
  const poolId = await aPool(harness.tenant)
  const action = { cycle: CYCLE, rule: null, action: 'tooLittleToPick', counter: 0, detail: 'd', workflowId: 'w' }
  const report = () => harness.tenant.inside('POST', '/internal/watchdog/actions', { ...action, poolId })
  const answers = await times(2, report)

  expect(answers.map(({ body }) => body)).toEqual([{ logged: true }, { logged: false }])
})

test('POST /internal/enforcement/permits takes 1 to 1000 SIMs', async () => {
  const ask = (count: number) => {
    const simIds = Array.from({ length: count }, (_, i) => NOBODY + i)
    const permit = { rule: 'sim-overage', cycle: CYCLE, simIds, workflowId: 'w' }
    return harness.tenant.inside('POST', '/internal/enforcement/permits', permit)
  }

  expect(await ask(1000)).toMatchObject({ status: 404, body: { code: 'sim_not_found' } })
  for (const count of [0, 1001]) {
    expect(await ask(count)).toMatchObject({ status: 400, body: { errors: [{ pointer: '/simIds' }] } })
  }
})

test.each([
  ['an invalid duration', 'extendGrace', { by: 'an hour' }, '/by'],
  ['an invalid instant', 'extendGrace', { until: 'Tuesday' }, '/until'],
  ['an unknown word', 'keepSuspended', { until: 'Tuesday' }, '/until'],
  ['an unknown field', 'resume', { now: true }, '/now'],
  ['neither of two fields', 'extendGrace', {}, ''],
  ['both of two fields', 'extendGrace', { by: 'PT1H', until: '2026-12-01T00:00:00Z' }, ''],
])('an update of a workflow with %s is refused without asking Temporal', async (_, name, body, pointer) => {
  const path = `/internal/workflows/${suspendOnOverageId(harness.tenant.id, 1, CYCLE)}/updates/${name}`
  const answer = await harness.tenant.inside('POST', path, body)

  expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request', errors: [{ pointer }] } })
})
