/** The billing contact's pages: the cost of a cycle with its reasons, statements, and the settings of mails. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { LogLevel, TicketType } from '../../../domain/codes.ts'
import { instant } from '../../../domain/local-time.ts'
import { amount, money } from '../../../domain/quantity.ts'
import { suspendOnOverageId } from '../../../domain/temporal/ids.ts'
import { openTicket } from '../../../service/tickets/open-ticket.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { endTicket } from '../../service/harness.ts'
import { recordUsage } from '../../service/record-usage.ts'
import { HOSTILE_NAMES } from '../../unit/channels/hostile.ts'
import { writeAlerts } from '../alerts/an-alert.ts'
import { anActiveSim, aPool, aTariff, aTenant, type Tenant, useHarness } from '../harness.ts'
import { type Browser, escaped, fieldIn, linksIn, OWN, useConsole } from './form-browser.ts'

const harness = useHarness()
const pages = useConsole(harness, { clock: () => harness.now })
const GB = 1_000_000_000

let browser: Browser
beforeEach(async () => {
  browser = await pages.signedIn(harness.operatorKey)
})
const my = (below = '', { id } = harness.tenant) => `/t/${id}/my${below}`
const page = async (below = '', of = harness.tenant) => (await browser.get(my(below, of))).body
const costOf = async (key = '2026-11', of = harness.tenant) =>
  (await of.inside('GET', `/internal/cycles/${key}/cost`)).body
/** The text of a part of a page, without marks. */
const textOf = (html: string) =>
  html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
const panelIn = (body: string, id: string) => body.split(`aria-labelledby="${id}"`)[1]?.split('</section>')[0] ?? ''
const rowsIn = (html: string) => html.split('<tr>').slice(2).map(textOf)

let serial = 0
const use = (of: Tenant, simId: number, usage: object, at = harness.now) =>
  recordUsage(harness.store, of.id, [{ recordId: `r${++serial}`, simId, at: new Date(at).toISOString(), ...usage }])

/** SIMs of two pools and one outside, with usage above the limit of one. */
async function inUse(of: Tenant): Promise<{ poolId: number; simId: number }> {
  const poolId = await aPool(of, { name: 'Vans', type: 1, tariffId: await aTariff(of, 1) })
  const [sim, other, outside] = [
    await anActiveSim(harness, of, { poolId }, { tag: 'van 7' }),
    await anActiveSim(harness, of, { poolId: await aPool(of, { name: 'Meters' }) }),
    await anActiveSim(harness, of, { tariffId: await aTariff(of) }),
  ]
  await use(of, sim.id, { bytesUp: 1.5 * GB, voiceSeconds: 610, smsCount: 8 })
  await use(of, other.id, { bytesUp: 0.25 * GB })
  await use(of, outside.id, { smsCount: 1200 })
  return { poolId, simId: sim.id }
}

describe('the month', () => {
  let made: Awaited<ReturnType<typeof inUse>>
  beforeAll(async () => {
    made = await inUse(harness.tenant)
  })

  test('has the figures of the interface, written as mails write them', async () => {
    const [body, cost] = [await page(), await costOf()]
    const { soFar, forecast } = cost
    const of = (part: string) => [amount(soFar[part], 'EUR'), `~ ${amount(forecast[part], 'EUR')}`]

    expect(soFar.totalMicro).toBeGreaterThan(60_000_000)
    expect(textOf(body)).toContain(`November 2026 so far: ${money(soFar.totalMicro, 'EUR')}`)
    expect(textOf(body)).toContain(`About ${money(forecast.totalMicro, 'EUR')} by 30 Nov, if usage goes on as it did.`)
    expect(textOf(body)).toContain(`Counted at ${instant(cost.asOf)}, of usage until ${instant(cost.knownTo)}.`)
    expect(rowsIn(panelIn(body, 'parts'))).toEqual([
      `Fees ${amount(soFar.feeMicro, 'EUR')} ${amount(forecast.feeMicro, 'EUR')} SIMs active in the cycle, and bought capacity`,
      `Overage ${of('overageMicro').join(' ')} 1 GB above the limits`,
      `Voice ${of('voiceMicro').join(' ')} 10 min 10 s`,
      `SMS ${of('smsMicro').join(' ')} 1,208 messages`,
      `Total ${of('totalMicro').join(' ')}`,
    ])
  })

  test('is divided by pool, the dearest first', async () => {
    const [body, { pools }] = [await page(), await costOf()]
    const [outside, vans, meters] = pools.first.map((one: { totalMicro: number; forecastMicro: number }) => [
      amount(one.totalMicro, 'EUR'),
      `~ ${amount(one.forecastMicro, 'EUR')}`,
    ])

    expect(rowsIn(panelIn(body, 'pools'))).toEqual([
      `Outside pools 1 line 0 of 1 GB none ${outside.join(' ')}`,
      `Vans 2 lines 1.5 GB of 500 MB 2.25 1 GB over ${vans.join(' ')}`,
      `Meters 2 lines 250 MB of 1 GB none ${meters.join(' ')}`,
    ])
    expect(linksIn(panelIn(body, 'pools'))).toContain(`/t/${harness.tenant.id}/pools/${made.poolId}`)
  })

  test('names the SIMs that a rule has suspended by their alerts, and until when', async () => {
    const { tenant, store } = harness
    const workflowId = suspendOnOverageId(tenant.id, made.simId, '2026-11')
    const cause = { by: 'watchdog', rule: 'sim-<b>', cycle: '2026-11', until: 'renewal', workflowId } as const
    const spared = await anActiveSim(harness, tenant, {}, { tag: 'spared' })
    expect(panelIn(await page(), 'suspended')).toContain('None.')
    await inTenant(store, tenant.id, async (tx) =>
      endTicket(tx, made.simId, await openTicket(tx, { simId: made.simId, type: TicketType.Suspend, cause })),
    )
    await writeAlerts(
      harness,
      tenant,
      [made.simId, spared.id].map((id) => ({ rule: 'sim-<b>', kind: 'sim', id })),
    )
    harness.now += 60_000
    const body = panelIn(await page(), 'suspended')

    expect(textOf(body)).toContain('1 SIM by rule sim-&lt;b&gt;')
    expect(body).toMatch(/<bdi>\d+ \(van 7\)<\/bdi>/)
    expect(body).not.toContain('spared')
    expect(linksIn(body)).toEqual([`/t/${tenant.id}/sims?status=2`])
    expect(textOf(body)).toContain('when the next billing cycle begins, at 2026-12-01 00:00 UTC')
  })

  test('says in the first tenth that the end is not yet known', async () => {
    const { body } = await harness.at(Date.UTC(2026, 11, 2), async () => {
      const later = await pages.signedIn(harness.operatorKey)
      await use(harness.tenant, made.simId, { smsCount: 1 }, harness.now)
      return later.get(my())
    })

    expect(textOf(body)).toContain('The cost by 31 Dec is not yet known: the forecast begins after the first tenth')
    expect(body).not.toContain('~')
  })

  test('of a tenant without SIMs is not open', async () => {
    expect(await page('', harness.other)).toContain('<h1>No billing cycle is open yet</h1>')
  })

  test.each(['2026-13', '../x', '%00'])('of no cycle (%j) is not found', async (key) => {
    expect((await browser.get(my(`?cycle=${encodeURIComponent(key)}`))).status).toBe(404)
  })

  test('of five minutes is named by its ends', async () => {
    const short = { name: 'Short', billingEmail: 'b@example.com', billingCycle: 'PT5M' }
    const { id, key } = (await harness.operate('POST', '/internal/tenants', short)).body
    const ofShort = await pages.signedIn(key)
    await harness.operate('POST', '/internal/sims', { sims: [{ iccid: '8944500102999999999' }] }, { 'x-tenant-id': id })
    const text = textOf((await ofShort.get(my('', { ...harness.tenant, id }))).body)

    expect(text).toContain('20 Nov 2026, 12:00–12:05 so far: EUR 0.00')
    expect(text).toContain('About EUR 0.00 by 2026-11-20 12:05 UTC, if usage goes on as it did.')
  })

  test('names pools to a contact, and leads to none', async () => {
    const { key } = (await harness.tenant.inside('POST', '/internal/keys', { name: 'b', scopes: ['billing'] })).body
    const contact = await pages.signedIn(key)
    const { body } = await contact.get(my())

    expect((await contact.get('/')).headers['location']).toBe(my())
    expect(textOf(panelIn(body, 'pools'))).toContain('Vans 2 lines')
    expect(linksIn(body).filter((link) => link?.startsWith('/t/'))).toEqual([
      my(),
      my('/alerts'),
      my('/statements'),
      my('/settings'),
      my('/settings'),
    ])
  })

  test('says to a contact which alerts there are, in words', async () => {
    const { tenant } = harness
    await writeAlerts(harness, tenant, [
      { rule: 'north-over', kind: 'tenant', id: 0, state: { withheld: ['silenced'] } },
      { rule: 'long-gone', kind: 'tenant', id: 0, state: { phase: 'resolved' } },
    ])
    const { key } = (await tenant.inside('POST', '/internal/keys', { name: 'b', scopes: ['billing'] })).body
    const contact = await pages.signedIn(key)
    const [open, ended] = [(await contact.get(my('/alerts'))).body, (await contact.get(my('/alerts?ended=true'))).body]

    expect([open.includes('north-over'), open.includes('long-gone')]).toEqual([true, false])
    expect([ended.includes('north-over'), ended.includes('long-gone')]).toEqual([false, true])
    expect(linksIn(open).filter((link) => /alerts\/\d/.test(link ?? ''))).toEqual([])
    expect((await contact.get(`/t/${tenant.id}/alerts`)).status).toBe(403)
  })

  test('is led to from /my', async () => {
    const ofTenant = await pages.signedIn(harness.tenant.key)

    expect((await ofTenant.get('/my')).headers['location']).toBe(my())
    expect((await browser.get('/my')).headers['location']).toBe('/')
  })
})

test('names of pools are text', async () => {
  const of = await aTenant(harness, 'Hostile')
  const tariffId = await aTariff(of)
  const shown: string[] = []
  for (const name of HOSTILE_NAMES) {
    const poolId = await aPool(of, { name, tariffId })
    if (poolId === undefined) continue
    shown.push(name)
    await anActiveSim(harness, of, { poolId })
  }
  const body = panelIn(await page('', of), 'pools')

  expect(shown.length).toBeGreaterThan(5)
  for (const name of shown) expect(body).toContain(`<bdi>${escaped(name)}</bdi>`)
})

describe('a cycle that is closed', () => {
  let of: Tenant
  beforeAll(async () => {
    of = await aTenant(harness, 'Closed')
    await harness.at(Date.UTC(2026, 9, 20), async () => {
      await inUse(of)
    })
    await of.inside('POST', '/internal/cycles/2026-10/close')
  })

  test('is shown by its statement, without a forecast', async () => {
    const [body, cost] = [await page('?cycle=2026-10', of), await costOf('2026-10', of)]

    expect(textOf(body)).toContain(`October 2026: ${money(cost.soFar.totalMicro, 'EUR')}`)
    expect(textOf(body)).toContain(`Closed at ${instant(cost.closedAt)}: the figures are those of its statement.`)
    expect(body).not.toContain('~')
    expect(body).not.toContain('id="suspended"')
  })

  test('is among the statements, and its file is passed through', async () => {
    const [body, stated] = [await page('/statements', of), await of.inside('GET', '/internal/cycles/2026-10/statement')]
    const { status, headers, body: file } = await browser.get(my('/statements/2026-10.csv', of))
    const direct = await of.inside('GET', '/internal/cycles/2026-10/statement.csv')

    expect(rowsIn(body)[0]).toBe(
      `October 2026 closed ${instant(harness.now)} ${stated.body.lineCount} ${money(stated.body.totalMicro, 'EUR')} CSV of October 2026`,
    )
    expect(rowsIn(body)).toHaveLength(1)
    expect(linksIn(body)).toEqual(expect.arrayContaining([my('?cycle=2026-10', of), my('/statements/2026-10.csv', of)]))
    expect({ status, file }).toEqual({ status: 200, file: direct.body })
    for (const name of ['content-type', 'content-disposition']) expect(headers[name]).toBe(direct.headers[name])
    expect((await browser.get(my('/statements/2026-13.csv', of))).status).toBe(404)
    expect((await browser.get(my('/statements/2026-10.csv', { ...of, id: 'none' }))).status).toBe(404)
  })
})

describe('the settings', () => {
  const addresses = async () => (await harness.tenant.inside('GET', '/internal/addresses')).body
  /** Sends the form of a page twice, and follows it. */
  async function sendTwice(name: string, query: string, fields: Record<string, string>) {
    const { body } = await browser.get(my(`/settings/${name}${query}`))
    const form = { key: fieldIn(body, 'key'), ...fields }
    const sent = [await browser.post(my(`/settings/${name}`), form), await browser.post(my(`/settings/${name}`), form)]
    const after = await browser.get(String(sent[0]?.headers['location']), OWN)
    expect(sent.map(({ status, headers }) => [status, headers['location']])).toEqual(
      Array(2).fill([303, my(`/settings?done=${name}`)]),
    )
    return { body, after: textOf(after.body) }
  }

  test('mail only critical alerts, and leave the rest as it is', async () => {
    const before = (await harness.tenant.inside('GET', '/internal/tenant/notices')).body
    const link = linksIn(await page('/settings')).find((one) => one?.includes('level=')) ?? ''
    const { body, after } = await sendTwice('level', '?level=2', { level: '2' })

    expect(link).toBe(my('/settings/level?level=2'))
    expect(body).toContain('<option value="2" selected>')
    expect(body).toContain('Summaries of billing cycles are mailed all the same.')
    expect(after).toContain('Mailed: critical alerts only')
    expect((await harness.tenant.inside('GET', '/internal/tenant/notices')).body).toEqual({
      ...before,
      mailsFrom: LogLevel.Critical,
    })
    expect(await page('/settings')).not.toContain('level=2')
  })

  test('add an address once, refuse one that is none, and remove it once', async () => {
    const added = await sendTwice('add', '', { email: 'copy@example.com', level: '1' })
    const wrong = await browser.post(my('/settings/add'), { key: crypto.randomUUID(), email: '<none>', level: '' })
    const [id] = (await addresses()).flatMap((one: { kind: string; id: number }) =>
      one.kind === 'copy' ? [one.id] : [],
    )
    const removed = await sendTwice('remove', `?address=${id}`, { address: String(id) })
    const gone = await browser.get(my(`/settings/remove?address=${id}`))

    expect(added.after).toContain('copy@example.com Copies: warning and critical alerts Remove')
    expect({ status: wrong.status, isKept: wrong.body.includes('value="&lt;none&gt;"') }).toEqual({
      status: 400,
      isKept: true,
    })
    expect(removed.body).toContain('<bdi>copy@example.com</bdi>')
    expect(removed.after).not.toContain('copy@example.com')
    expect((await addresses()).map(({ email }: { email: string }) => email)).toEqual(['billing@example.com'])
    expect(gone.body).not.toContain('<p class="acts"><button')
  })
})
