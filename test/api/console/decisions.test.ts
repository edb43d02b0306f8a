/** Decisions: their cause, the held SIMs or alerts, and both choices, each made once. */
import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { inTenant } from '../../../store/tenancy.ts'
import { type NewAlert, writeAlerts } from '../alerts/an-alert.ts'
import { anActiveSim, aPool, times, useHarness } from '../harness.ts'
import { type Browser, fieldIn, idsIn, linksIn, OWN, useConsole } from './form-browser.ts'

const harness = useHarness()
const pages = useConsole(harness)
const inside = (method: 'GET' | 'POST' | 'PATCH', url: string, body?: object) =>
  harness.tenant.inside(method, url, body)

let browser: Browser
let poolId: number
let rules = 0
let rule: string
let simIds: number[]
let holdId: number
const path = (below = '') => `/t/${harness.tenant.id}/decisions/${holdId}${below}`
const stateNow = async () => (await inside('GET', `/internal/enforcement/holds/${holdId}`)).body
const ask = (ids: readonly number[]) =>
  inside('POST', '/internal/enforcement/permits', { rule, cycle: '2026-11', poolId, simIds: ids, workflowId: 'w' })

beforeEach(async () => {
  browser = await pages.signedIn(harness.operatorKey)
  poolId = await aPool(harness.tenant, { name: `Meters ${(rules += 1)}` })
  rule = `rule-${rules}`
  await inside('PATCH', '/internal/tenant/enforcement', { guardLeast: 1, guardPct: 0 })
  const sims = await times(3, () => anActiveSim(harness, harness.tenant, { poolId }, { tag: 'meter' }))
  simIds = sims.map(({ id }) => id)
  holdId = (await ask(simIds)).body.holdId
})

/** The page, and its forms. */
async function formsOf() {
  const { body } = await browser.get(path())
  const fields = { key: fieldIn(body, 'key'), expect: fieldIn(body, 'expect') }
  return { body, send: (name: string, more = {}) => browser.post(path(`/${name}`), { ...fields, ...more }) }
}

test('says what is held and why, and names the SIMs', async () => {
  const { body } = await formsOf()

  expect(body).toContain('<h1>Suspend 2 SIMs?</h1>')
  const pool = `<a href="/t/${harness.tenant.id}/pools/${poolId}"><bdi>Meters ${rules}</bdi></a>`
  expect(body).toContain(`of pool ${pool} within an hour. 1 goes unasked, so the rest was held`)
  expect(body).toContain('Without a decision it lapses at 2026-12-01 00:00 UTC.')
  expect(idsIn(body, 'sim')).toEqual(simIds.slice(1))
  expect(body).toContain('Suspend 2 SIMs</button>')
  expect(body).toContain('Leave 2 SIMs on</button>')
})

test.each([
  ['release', 'released', 'The rule may suspend 2 SIMs', 'It is released'],
  ['discard', 'discarded', 'The rule leaves 2 SIMs alone', 'They are left alone'],
])('is decided once: %s', async (name, state, heading, said) => {
  const { send } = await formsOf()
  const sent = [await send(name), await send(name)]
  const after = await browser.get(String(sent[0]?.headers['location']), OWN)

  expect(sent.map(({ status, headers }) => [status, headers['location']])).toEqual(
    Array(2).fill([303, path(`?done=${name}`)]),
  )
  expect(await stateNow()).toMatchObject({ state, waiting: 2, decidedByName: 'tests' })
  expect(after.body).toContain(`<h1>${heading}</h1>`)
  expect(after.body).toContain(said)
  expect(after.body).toContain('<strong>Decided</strong> by <bdi>tests</bdi>')
  expect(after.body).not.toContain('<form class="act')
  expect(idsIn(after.body, 'sim')).toEqual(simIds.slice(1))
})

test('is not decided the other way by a page that is out of date', async () => {
  const { send } = await formsOf()
  await inside('POST', `/internal/enforcement/holds/${holdId}/discard`)
  const late = await send('release')

  expect(late.status).toBe(409)
  expect(late.body).toContain(`Hold ${holdId} was discarded before, so it cannot be released.`)
  expect(await stateNow()).toMatchObject({ state: 'discarded' })
})

test('is not made about more than the page has shown', async () => {
  const { send } = await formsOf()
  await ask([(await anActiveSim(harness, harness.tenant, { poolId })).id])
  const refused = await send('release')
  const unknown = await send('release', { expect: 'all' })
  const again = await browser.post(path('/release'), {
    key: fieldIn(refused.body, 'key'),
    expect: fieldIn(refused.body, 'expect'),
  })

  expect([refused.status, unknown.status, again.status]).toEqual([409, 400, 303])
  expect(refused.body).toContain(`expect: got 2, but 3 wait in hold ${holdId} now.`)
  expect(refused.body).toContain('<h1>Suspend 3 SIMs?</h1>')
  expect(await stateNow()).toMatchObject({ state: 'released', waiting: 3 })
})

test('about alerts names them, and says what is mailed', async () => {
  const held = (id: number): NewAlert => ({
    rule: 'sim-overage',
    kind: 'sim',
    id,
    state: { withheld: ['held'], guard: { part: '', is: 'held', hold: holdId } },
  })
  await inTenant(harness.store, harness.tenant.id, ({ q }) =>
    sql`update guard_holds set what = 'alerts' where id = ${holdId}`.execute(q),
  )
  await writeAlerts(harness, harness.tenant, simIds.slice(1).map(held))
  const { body, send } = await formsOf()
  const alerts = (await inside('GET', `/internal/alerts?holdId=${holdId}`)).body.data
  const alertPath = `/t/${harness.tenant.id}/alerts/${alerts[0].id}`

  expect(body).toContain('<h1>Mail about 2 alerts?</h1>')
  expect(linksIn(body)).toContain(alertPath)
  expect((await send('discard')).status).toBe(303)
  expect((await browser.get(path())).body).toContain('<h1>The rule leaves 2 alerts alone</h1>')
})

test('that has lapsed, or whose SIMs are all clear again, asks nothing', async () => {
  await inTenant(harness.store, harness.tenant.id, ({ q, now }) =>
    sql`update guard_permits set over_at = ${now} where hold_id = ${holdId}`.execute(q),
  )
  const clear = await browser.get(path())
  const lapsed = await harness.at(Date.parse('2026-12-02T00:00:00Z'), async () =>
    (await pages.signedIn(harness.operatorKey)).get(path()),
  )

  expect(lapsed.body).toContain('<h1>It has lapsed without a decision</h1>')
  expect(clear.body).toContain('<h1>Nothing waits here any more</h1>')
  expect([lapsed, clear].filter(({ body }) => body.includes('<form class="act'))).toEqual([])
})

test('is led to from the overview', async () => {
  const overview = await browser.get(`/t/${harness.tenant.id}`)

  expect(linksIn(overview.body)).toContain(path())
  expect((await browser.get(`/t/${harness.tenant.id}/decisions/999999`)).status).toBe(404)
})
