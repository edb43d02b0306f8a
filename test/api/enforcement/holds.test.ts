/** A hold of the guard, with the SIMs or alerts that wait in it. */
import { beforeEach, expect, test } from 'vitest'
import { type NewAlert, writeAlerts } from '../alerts/an-alert.ts'
import { anActiveSim, aPool, times, useHarness } from '../harness.ts'

const harness = useHarness()
const inside = (method: 'GET' | 'POST' | 'PATCH', url: string, body?: object) =>
  harness.tenant.inside(method, url, body)
const read = async (url: string) => (await inside('GET', url)).body
const idsIn = ({ data }: { data: { id: number }[] }) => data.map(({ id }) => id)

let rules = 0
let simIds: number[]
let holdId: number
beforeEach(async () => {
  await inside('PATCH', '/internal/tenant/enforcement', { guardLeast: 0, guardPct: 0 })
  const poolId = await aPool(harness.tenant)
  simIds = (await times(3, () => anActiveSim(harness, harness.tenant, { poolId }))).map(({ id }) => id).toReversed()
  const rule = `rule-${(rules += 1)}`
  const { body } = await inside('POST', '/internal/enforcement/permits', {
    rule,
    cycle: '2026-11',
    simIds,
    workflowId: 'w',
  })
  holdId = body.holdId
})

test('is read alone as in the list, with the time at which it lapses', async () => {
  const hold = await read(`/internal/enforcement/holds/${holdId}`)
  const { data } = await read('/internal/enforcement/holds')

  expect(hold).toEqual(data.find(({ id }: { id: number }) => id === holdId))
  expect(hold).toMatchObject({ what: 'suspensions', state: 'held', waiting: 3, lapsesAt: '2026-12-01T00:00:00.000Z' })
})

test('names its SIMs in the order in which they were held, also after its decision', async () => {
  const before = await read(`/internal/enforcement/holds/${holdId}/sims`)
  const second = await read(`/internal/enforcement/holds/${holdId}/sims?page=2&pageSize=2`)
  await inside('POST', `/internal/enforcement/holds/${holdId}/discard`)

  expect(idsIn(before)).toEqual(simIds)
  expect(before.data[0]).toMatchObject({ status: 1, usageMB: 0 })
  expect(idsIn(second)).toEqual(simIds.slice(2))
  expect(second.pagination).toMatchObject({ totalItems: 3, hasNextPage: false })
  expect(idsIn(await read(`/internal/enforcement/holds/${holdId}/sims`))).toEqual(simIds)
})

test('filters the alerts that wait in it', async () => {
  const [one = 0, other = 0, third = 0] = simIds
  const alert = (id: number, state: NewAlert['state'] = {}): NewAlert => ({
    rule: 'sim-overage',
    kind: 'sim',
    id,
    state,
  })
  await writeAlerts(harness, harness.tenant, [
    alert(one, { guard: { part: '', is: 'held', hold: holdId } }),
    alert(other, { guard: { part: '', is: 'held', hold: holdId + 1 } }),
    alert(third),
  ])
  const found = await read(`/internal/alerts?holdId=${holdId}`)
  const ofOther = await read(`/internal/alerts?holdId=${holdId}&simId=${other}`)

  expect(found.data.map(({ subject }: { subject: { id: number } }) => subject.id)).toEqual([one])
  expect(ofOther.data).toEqual([])
})

test('that does not exist is refused by its id', async () => {
  const answers = [
    await inside('GET', '/internal/enforcement/holds/999999'),
    await inside('GET', '/internal/enforcement/holds/999999/sims'),
  ]

  expect(answers.map(({ status, body }) => [status, body.code])).toEqual(Array(2).fill([404, 'hold_not_found']))
  expect(answers[0]?.body.detail).toBe('There is no hold 999999.')
})
