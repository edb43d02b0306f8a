/** Bulk runs from the list of SIMs: their confirm page, their progress, and how they are taken back. */
import { beforeEach, describe, expect, test } from 'vitest'
import { SimStatus } from '../../../domain/codes.ts'
import type { Job } from '../../../domain/jobs.ts'
import { openBulkTickets } from '../../../service/tickets/open-bulk-tickets.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { endTicket, failTicket } from '../../service/harness.ts'
import { HOSTILE_NAMES } from '../../unit/channels/hostile.ts'
import { anActiveSim, aPool, aSim, times, useHarness } from '../harness.ts'
import { type Browser, escaped, fieldIn, idsIn, linksIn, OWN, useConsole } from './form-browser.ts'

const harness = useHarness()
const pages = useConsole(harness, { clock: () => harness.now })
const path = (below = '') => `/t/${harness.tenant.id}/bulk${below}`
const ticked = (type: string, sims: readonly { id: number }[]) =>
  path(`/new?type=${type}${sims.map(({ id }) => `&id=${id}`).join('')}`)

let browser: Browser
let poolId: number
let sims: { id: number; iccid: string }[]
beforeEach(async () => {
  browser = await pages.signedIn(harness.operatorKey)
  poolId = await aPool(harness.tenant, { name: 'North <1>' })
  sims = await times(3, () => anActiveSim(harness, harness.tenant, { poolId }))
})

async function formOf(url: string) {
  const { status, body } = await browser.get(url)
  const fields = { key: fieldIn(body, 'key'), expect: fieldIn(body, 'expect') }
  return { status, body, send: (more = {}, headers = OWN) => browser.post(url, { ...fields, ...more }, headers) }
}
/** Starts a run. @returns its id */
async function started(url: string): Promise<string> {
  const { headers } = await (await formOf(url)).send()
  return String(headers['location']).split(/[/?]/)[4] ?? ''
}
const runOf = async (id: string) => (await harness.tenant.inside('GET', `/internal/bulk-tickets/${id}`)).body
const runs = async () => (await harness.tenant.inside('GET', '/internal/bulk-tickets')).body.pagination.totalItems
/** Opens the tickets of all runs, as a worker does. */
async function work(): Promise<void> {
  const jobs: Job[] = []
  await openBulkTickets(harness.store, async (more) => void jobs.push(...more), harness.tenant.id)
  if (jobs.some(({ queue }) => queue === 'bulk')) await work()
}
const itemsOf = async (id: string) =>
  (await harness.tenant.inside('GET', `/internal/bulk-tickets/${id}/items`)).body.data
/** Opens the tickets of a run and carries them out; those of `failing` fail. */
async function carriedOut(id: string, failing: readonly number[] = []): Promise<void> {
  await work()
  for (const { simId, ticketId } of await itemsOf(id)) {
    if (ticketId === null) continue
    const failure = { code: 'carrier_refused', text: 'the carrier refuses it', detail: '422 <b>no</b>' }
    await inTenant(harness.store, harness.tenant.id, (tx) =>
      failing.includes(simId) ? failTicket(tx, ticketId, failure) : endTicket(tx, simId, ticketId),
    )
  }
}
const statusesOf = () =>
  Promise.all(sims.map(async ({ id }) => (await harness.tenant.ask('GET', `/api/sims/${id}`)).body.status))

describe('the list of SIMs', () => {
  test('has boxes and acts in a form without scripts, which keeps the filter', async () => {
    const { body } = await browser.get(`/t/${harness.tenant.id}/sims?poolId=${poolId}&status=1&search=8`)
    const form = body.split(`<form method="get" action="${path('/new')}">`)[1] ?? ''

    expect(form.match(/type="checkbox" name="id" value="\d+"/g)).toHaveLength(3)
    expect(form).toContain(`aria-label="Tick ${sims[0]?.iccid}"`)
    for (const [name, value] of [
      ['poolId', poolId],
      ['status', 1],
      ['search', 8],
    ])
      expect(form).toContain(`<input type="hidden" name="${name}" value="${value}">`)
    expect(form).toContain('or all 3 that match')
    expect([...form.matchAll(/<button name="type" value="([^"]*)"/g)].map(([, type]) => type)).toEqual([
      'suspend',
      'activate',
      'refresh',
      'send-sms',
      'provision',
    ])
  })

  test('has neither for keys of a tenant, and the pages of runs refuse them', async () => {
    const theirs = await pages.signedIn(harness.tenant.key)
    const list = await theirs.get(`/t/${harness.tenant.id}/sims`)
    const id = await started(ticked('suspend', sims))

    expect(idsIn(list.body, 'sim').length).toBeGreaterThan(0)
    expect(list.body).not.toContain('type="checkbox"')
    for (const url of [path(), path(`/${id}`), path(`/${id}/cancel`), ticked('suspend', sims)])
      expect((await theirs.get(url)).status).toBe(403)
    const form = { key: crypto.randomUUID(), expect: '3' }
    expect((await theirs.post(ticked('activate', sims), form)).status).toBe(403)
  })
})

describe('the confirm page', () => {
  test('says which SIMs are touched and refused, and how it is taken back', async () => {
    const stock = await aSim(harness.tenant, { tag: '<i>stock' })
    const { body } = await formOf(ticked('suspend', [...sims, stock, { id: 999_999_999 }]))

    expect(body).toContain('<h1>Suspend 3 SIMs?</h1>')
    expect(body).toContain('3 of 5 will be suspended')
    expect(body).toContain('1: The state of the SIM does not allow this')
    expect(body).toContain('1: SIM not found')
    expect(body).toContain(`SIM ${stock.id}: an unprovisioned SIM cannot be suspended.`)
    expect(linksIn(body)).toEqual(
      expect.arrayContaining([stock, ...sims].map(({ id }) => `/t/${harness.tenant.id}/sims/${id}`)),
    )
    expect(body).toContain('By <em>Bring back what it did</em>, on the page of the run')
    expect(body).toContain('Suspend 3 SIMs</button>')
  })

  test('has no button if no SIM is touched or ticked', async () => {
    const none = await formOf(ticked('activate', sims))
    const empty = await formOf(path(`/new?type=suspend&poolId=${poolId}&search=x%26y`))
    const sent = await empty.send({ key: crypto.randomUUID(), expect: '0' })

    expect(none.body).toContain('<h1>No SIM would be brought back</h1>')
    expect(none.body).toContain('3: The state of the SIM does not allow this')
    expect(empty.body).toContain('<h1>Tick SIMs first</h1>')
    expect(linksIn(empty.body)).toContain(`/t/${harness.tenant.id}/sims?search=x%26y&poolId=${poolId}`)
    for (const { body } of [none, empty]) expect(body).not.toContain('method="post" action="/t/')
    expect([sent.status, sent.body.includes('<h1>Tick SIMs first</h1>')]).toEqual([400, true])
  })

  test.each([
    ['a type that is none', 'type=explode&id=1'],
    ['an unknown id', 'type=suspend&id=x'],
    ['an earlier run that is none', 'type=suspend&run=17'],
  ])('refuses %s', async (_, query) => {
    expect((await browser.get(path(`/new?${query}`))).status).toBe(400)
  })
})

describe('a run', () => {
  test('is started once, even if its form is sent twice at once', async () => {
    const before = await runs()
    const { send } = await formOf(ticked('suspend', sims))
    const sent = [...(await Promise.all([send(), send()])), await send()]
    const after = await browser.get(String(sent[2]?.headers['location']), OWN)

    expect(sent.filter(({ status }) => status === 303).length).toBeGreaterThan(1)
    expect(await runs()).toBe(before + 1)
    expect(after.body).toContain('It has begun')
    expect(after.body).toContain('0 of 3 SIMs done')
  })

  test('touches no more SIMs than its page has shown', async () => {
    const filter = path(`/new?type=suspend&all=true&poolId=${poolId}`)
    const before = await runs()
    const { send } = await formOf(filter)
    sims.push(await anActiveSim(harness, harness.tenant, { poolId }))
    const grown = await send()
    const unknown = await send({ expect: 'all' })

    expect([grown.status, unknown.status, await runs()]).toEqual([409, 400, before])
    expect(grown.body).toContain('More SIMs would be touched than the page had shown.')
    expect(grown.body).toContain('<h1>Suspend 4 SIMs?</h1>')
    const again = { key: fieldIn(grown.body, 'key'), expect: fieldIn(grown.body, 'expect') }
    expect((await browser.post(filter, again)).status).toBe(303)
  })

  test('shows its progress, and its SIMs by state', async () => {
    const id = await started(ticked('suspend', [...sims, { id: 999_999_999 }]))
    await carriedOut(id, [sims[0]?.id ?? 0])
    const { body } = await browser.get(path(`/${id}`))
    const failed = await browser.get(path(`/${id}?outcome=failed`))
    const [{ ticketId }] = await itemsOf(id)

    expect(body).toContain('<h1>Suspend 4 SIMs <span class="badge good">Done</span></h1>')
    expect(body).toContain('4 of 4 SIMs done')
    expect(body).toContain(`<a href="${path(`/${id}`)}?outcome=complete">2 SIMs</a>`)
    expect(body).toContain('1: SIM not found')
    expect(body).not.toContain('Cancel the rest')
    const ticket = `/t/${harness.tenant.id}/tickets/${ticketId}`
    expect(linksIn(failed.body)).toContain(ticket)
    expect(linksIn((await browser.get(ticket)).body)).toContain(path(`/${id}`))
    expect(failed.body).toContain('<bdi>422 &lt;b&gt;no&lt;/b&gt;</bdi>')
    expect(failed.body.match(/id="item-/g)).toHaveLength(1)
    expect((await browser.get(path())).body).toContain(`<a href="${path(`/${id}`)}">Suspend 4 SIMs</a>`)
    expect(linksIn((await browser.get(`/t/${harness.tenant.id}/tickets`)).body)).toContain(path())
  })

  test('is taken back for the SIMs that it has completed, and tried again for the failed', async () => {
    const id = await started(ticked('suspend', sims))
    await carriedOut(id, [sims[0]?.id ?? 0])
    const suspended = await statusesOf()
    const links = linksIn((await browser.get(path(`/${id}`))).body).filter((href) => href?.includes(`run=${id}`))
    const back = await formOf(links[0] ?? '')
    const again = await formOf(links[1] ?? '')
    await carriedOut(await started(links[0] ?? ''))

    const [Active, Suspended] = [SimStatus.Active, SimStatus.Suspended]
    expect(suspended).toEqual([Active, Suspended, Suspended])
    expect(back.body).toContain('<h1>Bring back 2 SIMs?</h1>')
    expect(again.body).toContain('<h1>Suspend 1 SIM?</h1>')
    expect(await statusesOf()).toEqual([Active, Active, Active])
  })

  test('is cancelled once', async () => {
    const id = await started(ticked('suspend', sims))
    await work()
    const { body, send } = await formOf(path(`/${id}/cancel`))
    const sent = [...(await Promise.all([send(), send()])), await send()]
    const after = await browser.get(String(sent[0]?.headers['location']), OWN)

    expect(body).toContain('3 SIMs that wait are not suspended: the carrier is not asked.')
    expect(sent.map(({ status }) => status)).toEqual([303, 303, 303])
    expect(after.body).toContain('Its rest is cancelled')
    expect(await runOf(id)).toMatchObject({ state: 'cancelled', counts: { cancelled: 3 } })
    expect((await browser.get(path(`/${id}/cancel`))).body).toContain('there is nothing to cancel')
  })

  test('sends a text, and keeps it if it is refused', async () => {
    const text = '<b>reboot</b> & "go"'
    const { send } = await formOf(ticked('send-sms', sims))
    sims.push(await anActiveSim(harness, harness.tenant, { poolId }))
    const refused = await send({ message: text, expect: '1' })
    const location = String((await send({ message: text })).headers['location'])

    expect(refused.status).toBe(409)
    expect(refused.body).toContain(`>${escaped(text)}</textarea>`)
    expect((await browser.get(location)).body).toContain(`<bdi>${escaped(text)}</bdi>`)
  })

  test('shows the words of others as text', async () => {
    for (const name of HOSTILE_NAMES) {
      // PostgreSQL keeps no zero bytes, and reads others as the bytes that they are sent as.
      const text = name.replaceAll('\u0000', '').toWellFormed()
      const iccids = [text.slice(0, 64), sims[0]?.iccid]
      const ask = { type: 'send-sms', message: text, sims: { iccids } }
      const { id } = (await harness.tenant.inside('POST', '/internal/bulk-tickets', ask)).body
      const { body } = await browser.get(path(`/${id}`))

      expect(body).toContain(`<bdi>${escaped(text)}</bdi>`)
      expect(body).toContain(`<bdi>${escaped(text.slice(0, 64))}</bdi>`)
    }
  })

  test('provisions into a pool, and is taken back by unassigning', async () => {
    const stock = await times(2, () => aSim(harness.tenant))
    const url = ticked('provision', stock)
    const { body, send } = await formOf(url)
    const unchosen = await send({ poolId: '' })
    const id = String((await send({ poolId: String(poolId) })).headers['location']).split(/[/?]/)[4] ?? ''
    await carriedOut(id)
    const page = await browser.get(path(`/${id}`))

    expect(body).toContain(`<option value="${poolId}">North &lt;1&gt;</option>`)
    expect([unchosen.status, unchosen.body.includes('poolId: got nothing')]).toEqual([400, true])
    expect(await runOf(id)).toMatchObject({ poolId, counts: { complete: 2 } })
    expect(linksIn(page.body)).toContain(path(`/new?type=unassign&run=${id}&outcome=complete`))
  })

  test('is not started from another site, or for another tenant', async () => {
    const before = await runs()
    const { send } = await formOf(ticked('suspend', sims))
    const theirs = `/t/${harness.other.id}/bulk`
    const id = await started(ticked('refresh', sims))
    const page = await browser.get(`${theirs}/new?type=suspend&id=${sims[0]?.id}`)

    expect((await send({}, { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
    expect(page.body).toContain('<h1>No SIM would be suspended</h1>')
    expect((await browser.get(`${theirs}/${id}`)).status).toBe(404)
    expect((await browser.get(`${theirs}/new?type=suspend&run=${id}`)).status).toBe(404)
    expect(await runs()).toBe(before + 1)
  })
})
