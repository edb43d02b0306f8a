/** The page of enforcement: its switch, the rules that have SIMs suspended, and their undo. */
import { beforeEach, describe, expect, test } from 'vitest'
import { TicketType } from '../../../domain/codes.ts'
import { suspendOnOverageId } from '../../../domain/temporal/ids.ts'
import { openTicket } from '../../../service/tickets/open-ticket.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { endTicket } from '../../service/harness.ts'
import { HOSTILE_NAMES } from '../../unit/channels/hostile.ts'
import { anActiveSim, useHarness } from '../harness.ts'
import { type Browser, escaped, fieldIn, linksIn, OWN, useConsole } from './form-browser.ts'

const harness = useHarness()
const pages = useConsole(harness, { clock: () => harness.now })

let browser: Browser
beforeEach(async () => {
  browser = await pages.signedIn(harness.operatorKey)
})
const path = (below = '') => `/t/${harness.tenant.id}/enforcement${below}`
const isOn = async () => (await harness.tenant.inside('GET', '/internal/tenant/enforcement')).body.enabled
const switchTo = (enabled: boolean) => harness.tenant.inside('PATCH', '/internal/tenant/enforcement', { enabled })

/** A SIM that a rule has suspended. */
async function aSuspendedSim(rule: string): Promise<number> {
  const { tenant, store } = harness
  const { id: simId } = await anActiveSim(harness, tenant)
  const workflowId = suspendOnOverageId(tenant.id, simId, '2026-11')
  const cause = { by: 'watchdog', rule, cycle: '2026-11', until: 'renewal', workflowId } as const
  await inTenant(store, tenant.id, async (tx) =>
    endTicket(tx, simId, await openTicket(tx, { simId, type: TicketType.Suspend, cause })),
  )
  harness.now += 60_000
  return simId
}
const undoPath = (rule: string, since = '2026-11-01T00:00') =>
  path(`/undo?${new URLSearchParams({ rule, since }).toString()}`)

describe('the switch', () => {
  test.each([
    ['stop', true, 'No rule suspends a SIM any more', 'Enforcement is stopped'],
    ['start', false, 'Rules look at every SIM and pool again', 'Enforcement is on'],
  ])('%s: says before what it does, and does it once', async (name, wasOn, then, said) => {
    await switchTo(wasOn)
    const { body } = await browser.get(path(`/${name}`))
    const form = { key: fieldIn(body, 'key') }
    const sent = [await browser.post(path(`/${name}`), form), await browser.post(path(`/${name}`), form)]
    const after = await browser.get(String(sent[0]?.headers['location']), OWN)
    const events = (await harness.tenant.ask('GET', '/api/events')).body.data
    const title = `Enforcement switched ${wasOn ? 'off' : 'on'}`

    expect(linksIn((await browser.get(path())).body)).toContain(path(`/${wasOn ? 'start' : 'stop'}`))
    expect(body).toContain(then)
    expect(sent.map(({ status, headers }) => [status, headers['location']])).toEqual(
      Array(2).fill([303, path(`?done=${name}`)]),
    )
    expect(after.body).toContain(said)
    expect(await isOn()).toBe(!wasOn)
    expect(events.filter((one: { title: string }) => one.title === title)).toHaveLength(1)
    expect((await browser.get(path(`/${name}`))).body).not.toContain('<p class="acts"><button')
  })
})

describe('the undo of a rule', () => {
  test('is led to from the rules that have SIMs suspended', async () => {
    const simId = await aSuspendedSim('led-to')
    const { body } = await browser.get(path())
    const link = linksIn(body).find((one) => one?.includes('rule=led-to')) ?? ''
    const page = await browser.get(link)

    expect(page.body).toContain('<h1>Bring back 1 SIM?</h1>')
    expect(linksIn(page.body)).toContain(`../sims/${simId}`)
  })

  test('that cannot start, as Temporal is away, is asked again with the same page', async () => {
    await aSuspendedSim('undone')
    const { body } = await browser.get(undoPath('undone'))
    const form = { key: fieldIn(body, 'key'), rule: fieldIn(body, 'rule'), since: fieldIn(body, 'since') }
    const refused = await browser.post(path('/undo'), form)

    expect(refused.status).toBe(503)
    expect(refused.body).toContain('the Temporal server at 127.0.0.1:1 does not take the call')
    expect(refused.body).toContain('Bring back 1 SIM</button>')
    expect({ key: fieldIn(refused.body, 'key'), since: fieldIn(refused.body, 'since') }).toEqual({
      key: form.key,
      since: '2026-11-01T00:00:00.000Z',
    })
  })

  test('of a rule without suspensions has no button', async () => {
    const { status, body } = await browser.get(undoPath('no-such-rule'))

    expect(status).toBe(200)
    expect(body).toContain('There is nothing to undo')
    expect(body).not.toContain('<button class="first"')
  })

  test('refuses a time that is none, and shows names of others as text', async () => {
    const [name = ''] = HOSTILE_NAMES
    const refused = await browser.get(undoPath('any', 'yesterday'))

    expect(refused.status).toBe(400)
    expect(refused.body).toContain('yesterday')
    expect((await browser.get(undoPath('any', '2026-11-31T00:00'))).status).toBe(400)
    expect((await browser.get(undoPath(name.slice(0, 100)))).body).toContain(escaped(name.slice(0, 100)))
  })
})
