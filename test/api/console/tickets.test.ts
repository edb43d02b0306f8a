/** The pages of tickets: their list, a single one, and its cancellation. */
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { TicketStatus, TicketType } from '../../../domain/codes.ts'
import type { Cause } from '../../../domain/tickets/ticket.ts'
import { openTicket } from '../../../service/tickets/open-ticket.ts'
import { postponeTickets, startAttempts } from '../../../service/tickets/rows/batches.ts'
import { findTicket, type TicketFailure, type TicketRecord } from '../../../service/tickets/rows/tickets.ts'
import { inTenant, type TenantTx } from '../../../store/tenancy.ts'
import { endTicket, failTicket } from '../../service/harness.ts'
import { HOSTILE_NAMES } from '../../unit/channels/hostile.ts'
import { anActiveSim, aPool, aTariff, type Tenant, times, useHarness } from '../harness.ts'
import { type Browser, escaped, linksIn, OWN, useConsole } from './form-browser.ts'

const harness = useHarness()
const pages = useConsole(harness, { clock: () => harness.now })
const REFUSED: TicketFailure = { code: 'carrier_refused', text: 'the carrier refuses it', detail: '422 <b>no</b>' }

let browser: Browser
let sim: { id: number; iccid: string }
beforeAll(async () => {
  browser = await pages.signedIn(harness.operatorKey)
  sim = await anActiveSim(harness, harness.tenant, {}, { tag: 'meter <1>' })
})

const ticketsOf = ({ id }: Tenant = harness.tenant) => `/t/${id}/tickets`
const asTenant = <T>(work: (tx: TenantTx) => Promise<T>) => inTenant(harness.store, harness.tenant.id, work)
const refresh = async (simId = sim.id): Promise<string> =>
  (await harness.tenant.ask('POST', '/api/tickets/refresh', { simId })).body.id
const opened = (cause: Cause, type: TicketType = TicketType.Refresh, more: object = {}): Promise<string> =>
  asTenant((tx) => openTicket(tx, { simId: sim.id, type, cause, ...more }))

async function recordOf(tx: TenantTx, id: string): Promise<TicketRecord> {
  const ticket = await findTicket(tx, id)
  if (ticket === undefined) throw new Error(`there is no ticket ${id}`)
  return ticket
}
const fail = (id: string, failure: TicketFailure = REFUSED) => asTenant((tx) => failTicket(tx, id, failure))
/** Begins an attempt; it fails if there is a next one. */
const attempt = (id: string, nextAfterMs?: number) =>
  asTenant(async (tx) => {
    await startAttempts(tx, [await recordOf(tx, id)], new Date(harness.now + 60_000))
    if (nextAfterMs === undefined) return
    const until = new Date(harness.now + nextAfterMs)
    await postponeTickets(tx, [{ ticket: await recordOf(tx, id), until, why: REFUSED, counts: true }])
  })
const statusOf = async (id: string) => (await harness.tenant.ask('GET', `/api/tickets/${id}`)).body.status

const page = (id: string) => browser.get(`${ticketsOf()}/${id}`)
const idsIn = (body: string) => [...body.matchAll(/id="ticket-([0-9a-f-]{36})"/g)].map(([, id]) => id)
const list = async (query: string) => idsIn((await browser.get(`${ticketsOf()}?${query}`)).body)

describe('the tickets', () => {
  test('are found by status, type and SIM', async () => {
    const other = await anActiveSim(harness, harness.tenant)
    const [pending, failed, theirs] = [await refresh(), await refresh(), await refresh(other.id)]
    await fail(failed)
    const of = `simId=${sim.id}`

    expect((await list(`${of}&status=0&type=4`))[0]).toBe(pending)
    expect((await list(`${of}&status=3&type=`))[0]).toBe(failed)
    expect((await list('status=0&type=4'))[0]).toBe(theirs)
    expect(await list(of)).not.toContain(theirs)
    expect(await list(`${of}&status=1`)).toEqual([])
  })

  test('of a SIM name it, and lead to all others', async () => {
    const id = await refresh()
    await fail(id)
    const { body } = await browser.get(`${ticketsOf()}?simId=${sim.id}&status=3`)

    expect(body).toContain(`<a href="/t/${harness.tenant.id}/sims/${sim.id}"><bdi>meter &lt;1&gt;</bdi></a>`)
    expect(body).toContain(`<input type="hidden" name="simId" value="${sim.id}">`)
    expect(linksIn(body)).toEqual(expect.arrayContaining([`${ticketsOf()}?status=3`, `${ticketsOf()}/${id}`]))
    expect((await browser.get(`${ticketsOf()}?simId=999999`)).body).toContain('No ticket matches.')
  })

  test('say who asked, how far they are, and why no further', async () => {
    const [waiting, under, later] = [await refresh(), await refresh(), await refresh()]
    await attempt(under)
    for (const _ of [1, 2, 3]) await attempt(later, 130_000)
    const failed = await opened({ by: 'month-end', cycle: '2026-10' })
    await fail(failed)
    const byRule = {
      by: 'watchdog',
      rule: 'sim & overage',
      cycle: '2026-11',
      until: 'renewal',
      workflowId: 'w',
    } as const
    await opened(byRule)
    await opened({ by: 'workflow', workflowId: 'provision-and-activate:t:1' })
    const { body } = await browser.get(`${ticketsOf()}?simId=${sim.id}`)
    const row = (id: string) => body.split(`id="ticket-${id}"`)[1]?.split('</tr>')[0]

    expect(row(waiting)).toContain('Waits for its turn')
    expect(row(under)).toContain('Attempt 1 is under way')
    expect(row(later)).toMatch(/Tried 3 times, next <time [^>]*>in 2 min</)
    expect(row(later)).toContain('<bdi>the carrier refuses it</bdi>')
    expect(row(failed)).toContain('<bdi>the carrier refuses it</bdi> (<bdi>carrier_refused</bdi>)')
    expect(row(failed)).toContain('/month/2026-10"><bdi>2026-10</bdi></a>')
    expect(linksIn(body)).toContain(`/t/${harness.tenant.id}/workflows/provision-and-activate%3At%3A1`)
    expect(linksIn(body)).toContain(`/t/${harness.tenant.id}/alerts?rule=sim+%26+overage`)
  })

  test('are walked by cursor, with their filters', async () => {
    const { id: simId } = await anActiveSim(harness, harness.tenant)
    const made = await times(60, () => refresh(simId))
    const seen: (string | undefined)[] = []
    let next: string | undefined = `${ticketsOf()}?simId=${simId}&type=4`
    while (next !== undefined && seen.length < 100) {
      const { body } = await browser.get(next)
      seen.push(...idsIn(body))
      expect(body).toContain('60 found')
      next = linksIn(body).find((href) => href?.includes('cursor='))
    }

    expect(seen).toEqual(made.toReversed())
  })

  test.each([
    ['a wrong status', () => `${ticketsOf()}?status=9`, 400],
    ['a wrong type', () => `${ticketsOf()}?type=9`, 400],
    ['a cursor of another list', () => `${ticketsOf()}?cursor=s0`, 400],
    ['an unknown ticket', () => `${ticketsOf()}/${crypto.randomUUID()}`, 404],
    ['no ticket at all', () => `${ticketsOf()}/..%2Fcounts`, 400],
  ])('are refused on a page about %s', async (_, url, status) => {
    expect((await browser.get(url())).status).toBe(status)
  })

  test('are led to from the SIM and the overview', async () => {
    await fail(await refresh())
    const [simPage, overview] = [
      await browser.get(`/t/${harness.tenant.id}/sims/${sim.id}`),
      await browser.get(`/t/${harness.tenant.id}`),
    ]

    expect(linksIn(simPage.body)).toContain(`${ticketsOf()}?simId=${sim.id}`)
    expect(linksIn(overview.body)).toContain(`${ticketsOf()}?status=3`)
  })
})

describe('the page of a ticket', () => {
  test('says where a SIM is to go, and for whom', async () => {
    const [poolId, tariffId] = [await aPool(harness.tenant, { name: 'North' }), await aTariff(harness.tenant)]
    const id = await opened({ by: 'month-end', cycle: '2026-10' }, TicketType.Provision, {
      poolId,
      tariffId,
      tag: 'new',
    })
    const { body } = await page(id)

    expect(body).toContain('Waits for its turn: the carrier has done nothing yet.')
    for (const words of ['North', 'Tariff of type 0', 'new', '2026-10']) expect(body).toContain(`<bdi>${words}</bdi>`)
    await fail(id)
  })

  test('says why it failed, with the answer of the carrier as text', async () => {
    const id = await refresh()
    await attempt(id)
    await fail(id)
    const { body } = await page(id)

    expect(body).toMatch(/Failed <time [^>]*>just now<\/time>, after 1 attempt\./)
    expect(body).toContain('<bdi>422 &lt;b&gt;no&lt;/b&gt;</bdi>')
    expect(body).toContain('<bdi>carrier_refused</bdi>')
    expect(linksIn(body)).not.toContain(`${ticketsOf()}/${id}/cancel`)
  })

  test.each(HOSTILE_NAMES)('shows %j of a carrier as text', async (name) => {
    // PostgreSQL keeps no zero bytes, and reads others as the bytes that they are sent as.
    const text = name.replaceAll('\u0000', '').toWellFormed()
    const id = await refresh()
    await fail(id, { code: text, text, detail: text })
    for (const { body, status } of [await page(id), await browser.get(`${ticketsOf()}?simId=${sim.id}&status=3`)]) {
      expect(status).toBe(200)
      expect(body).toContain(`<bdi>${escaped(text)}</bdi>`)
    }
  })
})

describe('a cancellation', () => {
  async function formOf(id: string) {
    const path = `${ticketsOf()}/${id}/cancel`
    const { body } = await browser.get(path)
    const key = /name="key" value="([^"]*)"/.exec(body)?.[1] ?? ''
    return { body, send: (headers = OWN) => browser.post(path, { key }, headers) }
  }

  test('has one effect, even if it is sent twice at once', async () => {
    const id = await refresh()
    const { body, send } = await formOf(id)
    const sent = [...(await Promise.all([send(), send()])), await send()]
    const after = await browser.get(String(sent[0]?.headers['location']), OWN)

    expect(linksIn((await page(id)).body)).not.toContain(`${ticketsOf()}/${id}/cancel`)
    expect(body).toContain('The SIM does not reconnect: the carrier is not asked.')
    expect(body).toContain('<em>Refresh its connection</em>')
    expect(sent.map(({ status, headers }) => [status, headers['location']])).toEqual(
      Array.from({ length: 3 }, () => [303, `${ticketsOf()}/${id}?done=cancel`]),
    )
    expect(after.body).toContain('It is cancelled: the carrier is not asked.')
    expect(await statusOf(id)).toBe(TicketStatus.Cancelled)
    const { rows } = await sql<{ n: number }>`
      select count(*)::integer as n from audit_log where subject_id = ${id} and action like 'cancel%'`.execute(
      harness.root,
    )
    expect(rows).toEqual([{ n: 1 }])
  })

  test('is refused if the ticket is carried out in the meantime', async () => {
    const id = await refresh()
    const { send } = await formOf(id)
    await asTenant((tx) => startAttempts(tx, [{ id, simId: sim.id } as TicketRecord], new Date(harness.now + 60_000)))
    const begun = await send()
    await asTenant((tx) => endTicket(tx, sim.id, id))
    const done = await send()

    expect([begun.status, done.status]).toEqual([409, 409])
    expect(begun.body).toContain('It is Processing:')
    expect(done.body).toContain('It is Complete:')
    expect(done.body).toContain('only a pending one can')
    expect(await statusOf(id)).toBe(TicketStatus.Complete)
  })

  test.each([
    [
      'watchdog',
      { by: 'watchdog', rule: 'r', cycle: '2026-11', until: 'renewal', workflowId: 'w' },
      'No rule suspends',
    ],
    ['month end', { by: 'month-end', cycle: '2026-10' }, 'A change that was queued stays so.'],
    ['workflow', { by: 'workflow', workflowId: 'w' }, 'undoes what it had done.'],
  ] as const)('says what follows for the %s', async (_, cause, words) => {
    const other = await anActiveSim(harness, harness.tenant)
    const id = await opened(cause, TicketType.Suspend, { simId: other.id })
    const { body } = await formOf(id)

    expect(body).toContain('The SIM is not suspended: the carrier is not asked.')
    expect(body).toContain(words)
  })
})
