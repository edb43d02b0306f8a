/** The pages of month ends: billing cycles, their plans, how far they are, and where statements differ. No Temporal here. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { TicketType } from '../../../domain/codes.ts'
import { instant } from '../../../domain/local-time.ts'
import { amount, money } from '../../../domain/quantity.ts'
import { openTicket } from '../../../service/tickets/open-ticket.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { endTicket, failTicket } from '../../service/harness.ts'
import { recordUsage } from '../../service/record-usage.ts'
import { anActiveSim, aPool, useHarness } from '../harness.ts'
import { type Browser, fieldIn, linksIn, OWN, useConsole } from './form-browser.ts'

const harness = useHarness()
const pages = useConsole(harness, { clock: () => harness.now })
const NOVEMBER = '2026-11'
const ENDED = Date.UTC(2026, 11, 1, 1)

let browser: Browser
beforeEach(async () => {
  browser = await pages.signedIn(harness.operatorKey)
})
const path = (below = '') => `/t/${harness.tenant.id}/month${below}`
const page = async (below = '') => (await browser.get(path(below))).body
const inside = (method: string, url: string, body?: object) => harness.tenant.inside(method, `/internal${url}`, body)
const planOf = async (key = NOVEMBER) => (await inside('GET', `/cycles/${key}/plan`)).body
const textOf = (html: string) =>
  html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
const panelIn = (body: string, id: string) => body.split(`aria-labelledby="${id}">`)[1]?.split('</section>')[0] ?? ''
const rowsIn = (html: string) =>
  html
    .split(/<tr[^>]*>/)
    .slice(2)
    .map(textOf)

let serial = 0
const use = (simId: number, usage: object, at = harness.now) =>
  recordUsage(harness.store, harness.tenant.id, [
    { recordId: `r${++serial}`, simId, at: new Date(at).toISOString(), ...usage },
  ])
/** Does work an hour after the cycle, with a browser that is signed in by then. */
const afterEnd = <T>(work: (later: Browser) => Promise<T>) =>
  harness.at(ENDED, async () => work(await pages.signedIn(harness.operatorKey)))

const sims = { moved: 0, left: 0, back: 0 }
beforeAll(async () => {
  const { tenant } = harness
  const [from, to] = [await aPool(tenant, { name: 'Vans <b>' }), await aPool(tenant, { name: 'Meters' })]
  for (const name of ['moved', 'left', 'back'] as const)
    sims[name] = (await anActiveSim(harness, tenant, { poolId: from })).id
  await use(sims.moved, { bytesUp: 1_500_000_000, smsCount: 8 })
  await use(sims.left, { smsCount: 1 }, Date.UTC(2026, 9, 5))
  await inside('POST', '/cycles/2026-10/close')
  await tenant.ask('POST', `/api/sims/${sims.moved}/queue-reprovision`, { poolId: to })
  await tenant.ask('POST', `/api/sims/${sims.left}/queue-unprovision`)
  const cause = { by: 'watchdog', rule: 'r', cycle: NOVEMBER, until: 'renewal', workflowId: 'w' } as const
  await inTenant(harness.store, tenant.id, async (tx) =>
    endTicket(tx, sims.back, await openTicket(tx, { simId: sims.back, type: TicketType.Suspend, cause })),
  )
})
const simLink = (id: number) => `/t/${harness.tenant.id}/sims/${id}`

test('the cycles are listed, newest first, and the Schedule is Temporal’s', async () => {
  const body = await page()

  expect(rowsIn(body)).toEqual([
    `November 2026 ${NOVEMBER} 2026-11-01 00:00 UTC until 2026-12-01 00:00 UTC Open 1 0`,
    'October 2026 2026-10 2026-10-01 00:00 UTC until 2026-11-01 00:00 UTC Closed 1 0',
  ])
  expect(linksIn(body)).toContain(path(`/${NOVEMBER}`))
  expect(textOf(panelIn(body, 'schedule'))).toContain('Cannot be read:')
  expect((await browser.get(path('/schedule/pause'))).status).toBe(503)
  expect((await browser.get(`/t/${harness.other.id}/month`)).body).toContain('No billing cycle is open yet')
})

test('an open one shows its plan with the figures of My month, and is not ended', async () => {
  const [body, plan] = [await page(`/${NOVEMBER}`), await planOf()]
  const my = (await browser.get(`/t/${harness.tenant.id}/my`)).body

  expect(plan.totals.totalMicro).toBeGreaterThan(0)
  expect(textOf(body)).toContain(`November 2026: ${money(plan.totals.totalMicro, 'EUR')} Open`)
  expect(my).toContain(`so far: ${money(plan.totals.totalMicro, 'EUR')}`)
  expect(textOf(body)).toContain(`the plan if it were closed now, added up at ${instant(plan.at)}.`)
  expect(rowsIn(panelIn(body, 'parts')).at(-1)).toBe(`Total ${amount(plan.totals.totalMicro, 'EUR')}`)
  expect(rowsIn(panelIn(body, 'pools'))[0]).toMatch(
    /^Vans &lt;b&gt; 4 lines 1.5 of 3 GB next cycle: of 1 GB 1.13 500 MB over by some SIMs 6.03$/,
  )
  expect(textOf(panelIn(body, 'changes'))).toMatch(/^Changes 1 move, 1 unassignment \d+ : to pool \d+ \d+ : unassign$/)
  expect(linksIn(panelIn(body, 'changes'))).toEqual([simLink(sims.moved), simLink(sims.left)])
  expect(linksIn(panelIn(body, 'renewals'))).toEqual([simLink(sims.back)])
  expect(linksIn(body)).not.toContain(path(`/${NOVEMBER}/start`))
  const form = await browser.get(path(`/${NOVEMBER}/start`))
  expect(form.body).toContain('The cycle has not ended.')
  expect(form.body).not.toContain('Start the month end</button>')
  expect((await browser.post(path(`/${NOVEMBER}/start`), { key: crypto.randomUUID() })).status).toBe(409)
})

test('one that has ended can be ended, which needs Temporal', async () => {
  await afterEnd(async (later) => {
    const body = (await later.get(path(`/${NOVEMBER}`))).body
    const form = (await later.get(path(`/${NOVEMBER}/start`))).body
    const refused = await later.post(path(`/${NOVEMBER}/start`), { key: fieldIn(form, 'key') })

    expect(textOf(body)).toContain('Ended, not closed It has ended, and has no statement yet')
    expect(linksIn(body)).toContain(path(`/${NOVEMBER}/start`))
    expect(textOf(panelIn(body, 'progress'))).toBe('Progress Unassign 0 of 1 Move 0 of 1 Return 0 of 1')
    expect(textOf(form)).toContain('1 move, 1 unassignment, 0 would fail; 1 SIM back; EUR')
    expect(refused.status).toBe(503)
    expect(refused.body).toContain('the Temporal server at 127.0.0.1:1 does not take the call')
  })
})

describe('a failed change', () => {
  const changes = async () => (await inside('GET', `/cycles/${NOVEMBER}/changes`)).body.changes

  test('has its reason, and is tried again once', async () => {
    await afterEnd(async (later) => {
      const range = { afterSimId: 0, throughSimId: 1_000_000 }
      const begun = (await inside('POST', `/cycles/${NOVEMBER}/changes/apply`, { kind: 'move', ...range })).body
      const failure = { code: 'carrier_refused', text: '<b>no', detail: '<b>no' } as const
      await inTenant(harness.store, harness.tenant.id, (tx) => failTicket(tx, begun.results[0].ticketId, failure))
      harness.now += 60_000
      const body = (await later.get(path(`/${NOVEMBER}`))).body
      const link = path(`/${NOVEMBER}/retry?kind=move`)
      const form = (await later.get(link)).body
      const sent = { key: fieldIn(form, 'key'), kind: fieldIn(form, 'kind') }
      const to = path(`/${NOVEMBER}/retry`)
      const answers = [await later.post(to, sent), await later.post(to, sent)]
      const after = await later.get(String(answers[0]?.headers['location']), OWN)

      expect(textOf(panelIn(body, 'progress'))).toContain('Move 1 of 1, 1 failed')
      expect(panelIn(body, 'conflicts')).toContain('<bdi>&lt;b&gt;no</bdi> (<bdi>carrier_refused</bdi>)')
      expect(linksIn(panelIn(body, 'conflicts'))).toEqual([simLink(sims.moved)])
      expect(linksIn(panelIn(body, 'progress'))).toEqual([link])
      expect(textOf(form)).toContain('Try 1 failed move again?')
      expect(answers.map(({ status, headers }) => [status, headers['location']])).toEqual(
        Array(2).fill([303, path(`/${NOVEMBER}?done=retry`)]),
      )
      expect(after.body).toContain('They are tried again.')
      expect(await changes()).toMatchObject([
        { simId: sims.moved, state: 'open' },
        { simId: sims.left, state: 'queued' },
      ])
      expect((await later.get(link)).body).toContain('None has failed.')
    })
  })
})

test('a closed one has its statement, and where that differs from the plan', async () => {
  await afterEnd(async (later) => {
    const planned = await planOf()
    await use(sims.back, { smsCount: 2 }, harness.now - 7_200_000)
    await inside('POST', `/cycles/${NOVEMBER}/close`)
    const body = (await later.get(path(`/${NOVEMBER}`))).body
    const statement = (await inside('GET', `/cycles/${NOVEMBER}/statement`)).body
    const [was, is] = [planned.totals, statement.totalMicro]
    const eur = (micro: number) => amount(micro, 'EUR')

    expect(is - was.totalMicro).toBe(100_000)
    expect(textOf(body)).toContain(`November 2026: ${money(is, 'EUR')} Closed Closed at`)
    expect(linksIn(body)).toContain(`/t/${harness.tenant.id}/my/statements/${NOVEMBER}.csv`)
    expect(textOf(panelIn(body, 'difference'))).toContain(`The plan is that of ${instant(planned.at)} .`)
    expect(rowsIn(panelIn(body, 'difference').split('</table>')[0] ?? '')).toEqual([
      `SMS ${eur(was.smsMicro)} ${eur(was.smsMicro + 100_000)} +0.10`,
      `Total ${eur(was.totalMicro)} ${eur(is)} +0.10`,
    ])
    expect(textOf(panelIn(body, 'difference').split('</table>')[1] ?? '')).toBe('Vans &lt;b&gt; +0.10')
    expect((await later.get(path('/2026-10'))).body).toContain('Nothing was planned before the close.')
    expect((await later.post(path(`/${NOVEMBER}/retry`), { key: crypto.randomUUID(), kind: 'move' })).status).toBe(409)
    expect((await later.get(path(`/${NOVEMBER}/retry`))).body).toContain('The cycle is closed')
  })
})

test.each([
  ['/2026-13', 404],
  ['/2020-01', 404],
  ['/2020-01/start', 404],
  [`/${'9'.repeat(33)}`, 400],
  ['?page=0', 400],
])('%s is refused', async (below, status) => {
  expect((await browser.get(path(below))).status).toBe(status)
})
