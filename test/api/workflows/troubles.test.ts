/** Activities that fail again and again, as workers report them, while Temporal is away. */
import { expect, test } from 'vitest'
import { tagOf } from '../../../console/pulse.ts'
import { forgetTroubles } from '../../../service/workflows/rows/troubles.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { aTenant, NOON, type Tenant, useHarness } from '../harness.ts'

const harness = useHarness()
const PATH = '/internal/workflows/troubles'
const instant = (at: number) => new Date(at).toISOString()

const placeOf = ({ id }: Tenant, sim: number, activityId = '4') => ({
  workflowId: `provision-and-activate:${id}:${sim}`,
  activityId,
})
/** An activity that was scheduled so many minutes ago. */
const failing = (place: ReturnType<typeof placeOf>, minutes: number, more: object = {}) => ({
  ...place,
  activity: 'openTicket',
  attempt: 3,
  code: 'unavailable',
  detail: 'The service is away.',
  since: instant(NOON - minutes * 60_000),
  failedAt: instant(NOON),
  nextAttemptAt: instant(NOON + 60_000),
  ...more,
})
const report = ({ inside }: Tenant, body: { failing?: object[]; ended?: object[] }) =>
  inside('POST', PATH, { failing: [], ended: [], ...body })
const listOf = async ({ inside }: Tenant, query = '') => (await inside('GET', `${PATH}${query}`)).body
const statusOf = async ({ inside }: Tenant) => (await inside('GET', '/internal/status')).body

test('lists the longest first, as they were reported, and counts their workflows', async () => {
  const tenant = await aTenant(harness, 'Listed')
  const [short, long, other] = [placeOf(tenant, 1), placeOf(tenant, 2), placeOf(tenant, 2, '5')]
  expect(await statusOf(tenant)).toMatchObject({ retryingWorkflows: 0, longestRetry: null })
  for (const attempt of [3, 5]) {
    const detail = `Key sim_0123456789ab_secret fails, attempt ${attempt}`
    const all = [failing(short, 1), failing(long, 9, { attempt, detail }), failing(other, 5)]
    expect(await report(tenant, { failing: all })).toMatchObject({ status: 200, body: {} })
  }
  const type = 'provision-and-activate'
  const detail = 'Key sim_0123456789ab_… fails, attempt 5'

  expect(await listOf(tenant)).toMatchObject({
    data: [
      { ...failing(long, 9, { attempt: 5, detail }), type },
      { ...failing(other, 5), type },
      { ...failing(short, 1), type },
    ],
    pagination: { totalItems: 3 },
    isChecked: false,
  })
  expect((await listOf(tenant, '?page=2&pageSize=2')).data).toMatchObject([short])
  const longestRetry = { since: instant(NOON - 9 * 60_000), detail }
  expect(await statusOf(tenant)).toMatchObject({ retryingWorkflows: 2, longestRetry })

  await report(tenant, { ended: [long, other, placeOf(tenant, 3)] })
  expect((await listOf(tenant)).data).toMatchObject([short])
})

test('are seen and reported by their own tenant alone', async () => {
  const { tenant, other } = harness
  const place = placeOf(tenant, 1)
  await report(tenant, { failing: [failing(place, 1)] })

  expect(await listOf(other)).toMatchObject({ data: [], isChecked: true })
  for (const body of [{ failing: [failing(place, 1)] }, { ended: [place] }]) {
    expect(await report(other, body)).toMatchObject({ status: 404, body: { code: 'workflow_not_found' } })
  }
  expect((await listOf(tenant)).data).toMatchObject([place])
})

test('are forgotten when the next attempt is not reported', async () => {
  const tenant = await aTenant(harness, 'Forgotten')
  const [overdue, due] = [placeOf(tenant, 1), placeOf(tenant, 2)]
  await report(tenant, { failing: [failing(overdue, 9, { nextAttemptAt: instant(NOON - 1) }), failing(due, 1)] })

  expect(await inPlatform(harness.store, (tx) => forgetTroubles(tx, new Date(NOON), 10))).toBe(1)
  expect((await listOf(tenant)).data).toMatchObject([due])
})

test('move the pulse with the first, the last, and when they have doubled', async () => {
  const status = await statusOf(harness.other)
  const tags = [0, 1, 2, 3, 4, 7, 8].map((retryingWorkflows) => tagOf({ ...status, retryingWorkflows }))

  expect(tags.map((tag) => tags.indexOf(tag))).toEqual([0, 1, 2, 2, 4, 4, 6])
})
