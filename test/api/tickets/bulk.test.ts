import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openBulkTickets } from '../../../service/tickets/open-bulk-tickets.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { endTicket, failTicket } from '../../service/harness.ts'
import { anIccid, aPool, aSim, aTariff, provisioned, type Tenant, times, useHarness } from '../harness.ts'

const harness = useHarness()
const PATH = '/internal/bulk-tickets'
const CSV = { 'content-type': 'text/csv' }

/** Opens the tickets of bulk runs, as a worker does. */
const work = (tenant: Tenant) =>
  openBulkTickets(harness.store, async (jobs) => void harness.jobs.push(...jobs), tenant.id)

/** SIMs that are Suspended after they were provisioned, so that they can be activated. */
const someSuspended = (tenant: Tenant, count: number, into = {}) =>
  times(count, async () => {
    const sim = await aSim(tenant)
    await provisioned(harness, tenant, sim.id, into)
    return sim
  })

const rowsOf = (tenant: Tenant, table: string) =>
  inTenant(harness.store, tenant.id, async (tx) => {
    const { rows } = await sql`select from ${sql.table(table)}`.execute(tx.q)
    return rows.length
  })
const everything = async (tenant: Tenant) =>
  Promise.all(['tickets', 'ticket_work', 'bulk_runs', 'bulk_items', 'bulk_work'].map((t) => rowsOf(tenant, t)))

async function started(tenant: Tenant, body: object) {
  const answer = await tenant.inside('POST', PATH, body)
  expect(answer.status, JSON.stringify(answer.body)).toBe(202)
  return answer.body
}
const runOf = async (tenant: Tenant, id: string) => (await tenant.inside('GET', `${PATH}/${id}`)).body
const itemsOf = async (tenant: Tenant, id: string, query = '') =>
  (await tenant.inside('GET', `${PATH}/${id}/items${query}`)).body.data

describe('POST /internal/bulk-tickets as a dry run', () => {
  test('predicts the run and writes nothing', async () => {
    const [suspended, fresh] = [await someSuspended(harness.tenant, 3), await aSim(harness.tenant)]
    const busy = (await someSuspended(harness.tenant, 1))[0]
    await harness.tenant.inside('POST', '/internal/tickets/activate', { simId: busy?.id })
    const stranger = await aSim(harness.other)
    const ids = [...suspended.map(({ id }) => id), fresh.id, busy?.id, stranger.id, suspended[0]?.id, 999_999_999]
    const before = await everything(harness.tenant)
    harness.jobs.length = 0

    const dry = await harness.tenant.inside('POST', PATH, { type: 'activate', sims: { ids }, dryRun: true })
    const after = await everything(harness.tenant)
    const enqueued = [...harness.jobs]
    const { id } = await started(harness.tenant, { type: 'activate', sims: { ids } })
    await work(harness.tenant)

    expect(dry.status).toBe(200)
    expect({ after, enqueued }).toEqual({ after: before, enqueued: [] })
    expect(dry.body).toMatchObject({ type: 'activate', total: 8, touched: { count: 3 }, refused: { count: 5 } })
    expect(dry.body.touched.sims).toEqual(suspended.map((sim, index) => ({ index, simId: sim.id, iccid: sim.iccid })))
    expect(dry.body.refused.byCode).toEqual([
      { code: 'sim_not_found', count: 2 },
      { code: 'sim_repeated', count: 1 },
      { code: 'sim_state_conflict', count: 2 },
    ])
    const run = await runOf(harness.tenant, id)
    expect(run).toMatchObject({ total: 8, refused: 5, refusals: dry.body.refused.byCode, notYetOpened: 0 })
    expect(run.counts).toMatchObject({ waiting: 0, refused: 5, pending: 3 })
    const refused = await itemsOf(harness.tenant, id, '?outcome=refused')
    const shown = refused.map(({ index, simId, iccid, code, detail }: any) => ({ index, simId, iccid, code, detail }))
    expect(shown).toEqual(dry.body.refused.sims)
    const opened = await itemsOf(harness.tenant, id, '?outcome=pending')
    expect(opened.map(({ index, simId, iccid }: any) => ({ index, simId, iccid }))).toEqual(dry.body.touched.sims)
  })

  test('says why each SIM is refused', async () => {
    const [active] = await someSuspended(harness.tenant, 1)
    const fresh = await aSim(harness.tenant)
    await harness.tenant.inside('POST', '/internal/tickets/activate', { simId: active?.id })

    const dry = await harness.tenant.inside('POST', PATH, {
      type: 'activate',
      sims: { rows: [{ simId: active?.id }, { iccid: fresh.iccid }, { iccid: '8.94E+18' }, { simId: 'x' }, {}, 7] },
      dryRun: true,
    })

    const already = expect.stringMatching(/active already, after 1 open ticket/)
    expect(dry.body.refused.sims).toMatchObject([
      { index: 0, simId: active?.id, code: 'sim_state_conflict', detail: already },
      { index: 1, iccid: fresh.iccid, code: 'sim_state_conflict', detail: expect.stringMatching(/unprovisioned/) },
      { index: 2, simId: null, code: 'invalid_request', detail: expect.stringMatching(/spreadsheet/) },
      { index: 3, code: 'invalid_request', detail: expect.stringMatching(/simId/) },
      { index: 4, code: 'invalid_request', detail: expect.stringMatching(/neither/) },
      { index: 5, code: 'invalid_request' },
    ])
  })
})

describe('SIMs of a bulk run', () => {
  test('are named by ICCID, unknown ones refused', async () => {
    const [sim] = await someSuspended(harness.tenant, 1)
    const unknown = anIccid()

    const { id } = await started(harness.tenant, { type: 'activate', sims: { iccids: [unknown, sim?.iccid, '12'] } })
    await work(harness.tenant)

    expect(await itemsOf(harness.tenant, id)).toEqual([
      expect.objectContaining({ index: 0, simId: null, iccid: unknown, outcome: 'refused', code: 'sim_not_found' }),
      {
        index: 1,
        simId: sim?.id,
        iccid: sim?.iccid,
        outcome: 'pending',
        ticketId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        code: null,
        detail: null,
      },
      expect.objectContaining({ index: 2, simId: null, iccid: '12', outcome: 'refused', code: 'invalid_request' }),
    ])
  })

  test('are named by a CSV', async () => {
    const [one, two, three] = await someSuspended(harness.tenant, 3)
    const lines = [
      ['Tag', 'ICCID', 'SimId'],
      ['x', one?.iccid, ''],
      ['', '', two?.id],
      ['', `="${three?.iccid}"`, three?.id],
      ['', one?.iccid, two?.id],
    ]
    const csv = `\uFEFF${lines.map((cells) => cells.join(';')).join('\r\n')}\r\n\r\n`

    const dry = await harness.tenant.inside('POST', `${PATH}?type=activate&dryRun=true`, csv, CSV)
    const run = await harness.tenant.inside('POST', `${PATH}?type=activate`, csv, CSV)
    await work(harness.tenant)

    const refused = { count: 1, byCode: [{ code: 'sim_not_found' }] }
    expect(dry.body).toMatchObject({ touched: { count: 3 }, refused })
    expect(run.status).toBe(202)
    expect((await runOf(harness.tenant, run.body.id)).counts).toMatchObject({ pending: 3, refused: 1 })
  })

  test('are named by a filter, applied once', async () => {
    const poolId = await aPool(harness.tenant)
    const sims = await someSuspended(harness.tenant, 3, { poolId })
    await harness.tenant.ask('PATCH', `/api/sims/${sims[0]?.id}/tag`, { tag: 'Nordwind 7' })
    const ask = (filter: object) =>
      harness.tenant.inside('POST', PATH, { type: 'activate', sims: { filter }, dryRun: true })

    const counts = [
      (await ask({ poolId })).body.touched.count,
      (await ask({ poolId, status: 2 })).body.touched.count,
      (await ask({ poolId, status: 1 })).body.total,
      (await ask({ search: 'nordwind', poolId: null })).body.touched.count,
    ]
    const { id } = await started(harness.tenant, { type: 'activate', sims: { filter: { poolId } } })
    await someSuspended(harness.tenant, 1, { poolId })
    await work(harness.tenant)

    expect(counts).toEqual([3, 3, 0, 1])
    expect((await itemsOf(harness.tenant, id)).map((item: any) => item.simId)).toEqual(sims.map((sim) => sim.id))
  })

  test('may be none, which ends the run', async () => {
    const run = await started(harness.tenant, { type: 'refresh', sims: { filter: { search: 'nobody is called so' } } })

    expect(run).toMatchObject({ state: 'done', total: 0, notYetOpened: 0 })
    expect(await rowsOf(harness.tenant, 'bulk_work')).toBe(0)
  })
})

describe('POST /internal/bulk-tickets', () => {
  test('provisions with pool, tariff and tag, and unassigns', async () => {
    const [poolId, tariffId] = [await aPool(harness.tenant), await aTariff(harness.tenant)]
    const sim = await aSim(harness.tenant)
    const into = { poolId, tariffId, tag: 'barn' }
    const run = await started(harness.tenant, { type: 'provision', sims: { ids: [sim.id] }, ...into })
    await work(harness.tenant)
    const [{ ticketId }] = await itemsOf(harness.tenant, run.id)
    const back = await started(harness.tenant, { type: 'unassign', sims: { ids: [sim.id] } })
    await work(harness.tenant)

    const ticket = (await harness.tenant.inside('GET', `/internal/tickets/${ticketId}`)).body
    expect(run).toMatchObject({ type: 'provision', ...into, message: null, state: 'running' })
    expect(ticket).toMatchObject({ simId: sim.id, type: 2, cause: { by: 'user' } })
    const pending = { pendingPoolId: poolId, pendingTariffId: tariffId, pendingUnassign: false, pendingTag: 'barn' }
    expect(ticket.provisioningInfo).toEqual(pending)
    const [item] = await itemsOf(harness.tenant, back.id)
    const left = (await harness.tenant.inside('GET', `/internal/tickets/${item.ticketId}`)).body
    expect(left.provisioningInfo).toMatchObject({ pendingUnassign: true })
  })

  test('sends an SMS to each active SIM', async () => {
    const [sim] = await someSuspended(harness.tenant, 1)
    await started(harness.tenant, { type: 'activate', sims: { ids: [sim?.id] } })
    const run = await started(harness.tenant, { type: 'send-sms', sims: { ids: [sim?.id] }, message: 'hello' })
    await work(harness.tenant)

    expect((await runOf(harness.tenant, run.id)).counts).toMatchObject({ pending: 1, refused: 0 })
    const { rows } = await sql`select type, message from tickets where bulk_id = ${run.id}`.execute(harness.root)
    expect(rows).toEqual([{ type: 3, message: 'hello' }])
  })

  test.each([
    ['an SMS without a text', { type: 'send-sms' }, '/message'],
    ['a text for a suspension', { type: 'suspend', message: 'x' }, '/message'],
    ['a pool for an activation', { type: 'activate', poolId: 1 }, '/poolId'],
    ['a tag for an unassignment', { type: 'unassign', tag: 'x' }, '/tag'],
    ['a type that is none', { type: 'explode' }, '/type'],
  ])('refuses %s as a whole', async (_, ask, pointer) => {
    const answer = await harness.tenant.inside('POST', PATH, { sims: { ids: [1] }, ...ask })

    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request', errors: [{ pointer }] } })
  })

  test.each([
    ['no type', { sims: { ids: [1] } }],
    ['no SIMs', { type: 'refresh' }],
    ['an empty list', { type: 'refresh', sims: { ids: [] } }],
    ['two ways of naming SIMs', { type: 'refresh', sims: { ids: [1], iccids: ['894450010200000001'] } }],
    ['ids that are text', { type: 'refresh', sims: { ids: ['1'] } }],
    ['a field nobody knows', { type: 'refresh', sims: { ids: [1] }, force: true }],
  ])('refuses %s', async (_, body) => {
    expect((await harness.tenant.inside('POST', PATH, body)).status).toBe(400)
  })

  test.each([
    ['a pool that is not there', { poolId: 999_999 }, 404, 'pool_not_found'],
    ['a tariff that is not there', { tariffId: 999_999 }, 404, 'tariff_not_found'],
  ])('refuses %s, in a dry run too', async (_, into, status, code) => {
    const sim = await aSim(harness.tenant)
    const body = { type: 'provision', sims: { ids: [sim.id] }, ...into }

    for (const dryRun of [false, true]) {
      expect(await harness.tenant.inside('POST', PATH, { ...body, dryRun })).toMatchObject({ status, body: { code } })
    }
  })

  test.each([
    ['without a known column', 'name\nx\n'],
    ['without a row', 'iccid\n'],
    ['that is empty', ''],
    ['that is none', 'iccid\n"89'],
  ])('refuses a CSV %s', async (_, csv) => {
    const answer = await harness.tenant.inside('POST', `${PATH}?type=refresh`, csv, CSV)

    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
  })

  test('needs the type of a CSV in the query', async () => {
    const answer = await harness.tenant.inside('POST', PATH, 'simId\n1\n', CSV)

    expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer: '/type' }] } })
  })

  test('takes dryRun from the query with JSON too', async () => {
    const before = await rowsOf(harness.tenant, 'bulk_runs')

    const answer = await harness.tenant.inside('POST', `${PATH}?dryRun=true`, { type: 'refresh', sims: { filter: {} } })

    expect(answer.status).toBe(200)
    expect(await rowsOf(harness.tenant, 'bulk_runs')).toBe(before)
  })
})

describe('POST /internal/bulk-tickets with a number expected', () => {
  test('opens no more tickets, now or when their turn comes', async () => {
    const poolId = await aPool(harness.tenant)
    const [first, second, third] = await someSuspended(harness.tenant, 3, { poolId })
    const open = await harness.tenant.inside('POST', '/internal/tickets/activate', { simId: third?.id })
    const ask = (expect: number) =>
      harness.tenant.inside('POST', PATH, { type: 'activate', sims: { filter: { poolId } }, expect })
    const before = await everything(harness.tenant)

    expect(await ask(1)).toMatchObject({ status: 409, body: { code: 'bulk_grown' } })
    expect(await everything(harness.tenant)).toEqual(before)
    const run = await ask(2)
    await harness.tenant.inside('DELETE', `/internal/tickets/${open.body.id}`)
    await work(harness.tenant)
    expect(run).toMatchObject({ status: 202, body: { total: 3, refused: 1, counts: { waiting: 2 } } })
    expect((await itemsOf(harness.tenant, run.body.id)).map((item: any) => [item.simId, item.outcome])).toEqual([
      [first?.id, 'pending'],
      [second?.id, 'pending'],
      [third?.id, 'refused'],
    ])
  })

  test('takes it from the query of a CSV, and no wrong one', async () => {
    const [sim] = await someSuspended(harness.tenant, 1)
    const csv = `simId\n${sim?.id}\n`
    const statuses = ['0', '1', '-1', 'x'].map(async (expect) => {
      const url = `${PATH}?type=activate&expect=${expect}`
      return (await harness.tenant.inside('POST', url, csv, CSV)).status
    })

    expect(await Promise.all(statuses)).toEqual([409, 202, 400, 400])
  })
})

test('the SIMs of a run are those of an earlier one, by outcome', async () => {
  const sims = await someSuspended(harness.tenant, 3)
  const ids = sims.map((sim) => sim.id)
  const { id } = await started(harness.tenant, { type: 'activate', sims: { ids: ids.toReversed() } })
  await work(harness.tenant)
  for (const { simId, ticketId } of (await itemsOf(harness.tenant, id)).slice(0, 2))
    await inTenant(harness.store, harness.tenant.id, (tx) =>
      simId === ids[2] ? failTicket(tx, ticketId, { code: 'x', text: 'x' }) : endTicket(tx, simId, ticketId),
    )
  const ask = (outcome: string, run = id, tenant = harness.tenant) =>
    tenant.inside('POST', PATH, { type: 'suspend', sims: { run: { id: run, outcome } }, dryRun: true })

  expect((await ask('complete')).body).toMatchObject({ total: 1, touched: { sims: [{ simId: ids[1] }] } })
  expect((await ask('failed')).body).toMatchObject({ total: 1, refused: { sims: [{ simId: ids[2] }] } })
  expect(await ask('complete', id, harness.other)).toMatchObject({ status: 404, body: { code: 'bulk_not_found' } })
  expect(await ask('complete', crypto.randomUUID())).toMatchObject({ status: 404 })
  expect(await ask('waiting')).toMatchObject({ status: 400 })
})

describe('a bulk run', () => {
  test('takes the Idempotency-Key of its dry run', async () => {
    const [sim] = await someSuspended(harness.tenant, 1)
    const body = { type: 'activate', sims: { ids: [sim?.id] } }
    const key = { 'idempotency-key': 'bulk-tried-first' }

    const tried = await harness.tenant.inside('POST', PATH, { ...body, dryRun: true }, key)
    const done = await harness.tenant.inside('POST', PATH, body, key)

    expect([tried.status, done.status]).toEqual([200, 202])
  })

  test('has one audit entry, and one for its cancellation', async () => {
    const sims = await someSuspended(harness.tenant, 3)
    const { id } = await started(harness.tenant, { type: 'activate', sims: { ids: sims.map((sim) => sim.id) } })
    await work(harness.tenant)
    await harness.tenant.inside('DELETE', `${PATH}/${id}`)

    const trail = await harness.tenant.inside('GET', `/internal/audit?subject=bulk-tickets&subjectId=${id}`)
    expect(trail.body.data).toMatchObject([
      { action: 'cancelBulkTickets', after: { state: 'cancelled' } },
      { action: 'startBulkTickets', before: null, after: { type: 'activate', total: 3 } },
    ])
  })

  test('enqueues a job and is listed newest first', async () => {
    harness.jobs.length = 0
    const sims = await someSuspended(harness.tenant, 2)
    harness.jobs.length = 0
    const first = await started(harness.tenant, { type: 'activate', sims: { ids: [sims[0]?.id] } })
    const second = await started(harness.tenant, { type: 'activate', sims: { ids: [sims[1]?.id] } })

    expect(harness.jobs).toEqual([first, second].map(() => ({ queue: 'bulk', tenantId: harness.tenant.id })))
    const list = await harness.tenant.inside('GET', `${PATH}?pageSize=2`)
    expect(list.body.data.map(({ id }: any) => id)).toEqual([second.id, first.id])
    const { counts, refusals, ...shown } = await runOf(harness.tenant, first.id)
    expect(list.body.data[1]).toEqual(shown)
    expect([counts.waiting, refusals]).toEqual([1, []])
    await work(harness.tenant)
  })

  test('cancels its waiting and pending tickets when cancelled', async () => {
    const sims = await someSuspended(harness.tenant, 3)
    const ids = sims.map((sim) => sim.id)
    const opened = await started(harness.tenant, { type: 'activate', sims: { ids } })
    await work(harness.tenant)
    const waiting = await started(harness.tenant, { type: 'suspend', sims: { ids } })

    const gone = [
      await harness.tenant.inside('DELETE', `${PATH}/${waiting.id}`),
      await harness.tenant.inside('DELETE', `${PATH}/${opened.id}`),
    ]
    const again = await harness.tenant.inside('DELETE', `${PATH}/${opened.id}`)
    await work(harness.tenant)

    const counts = { waiting: 0, pending: 0, cancelled: 3 }
    for (const answer of gone) {
      expect(answer).toMatchObject({ status: 200, body: { state: 'cancelled', notYetOpened: 0, counts } })
    }
    expect(again).toMatchObject({ status: 200, body: { state: 'cancelled' } })
    expect((await itemsOf(harness.tenant, waiting.id)).map((item: any) => [item.outcome, item.ticketId])).toEqual(
      ids.map(() => ['cancelled', null]),
    )
    const tickets = (await itemsOf(harness.tenant, opened.id, '?outcome=cancelled')).map((item: any) => item.ticketId)
    expect(tickets).toEqual(ids.map(() => expect.any(String)))
    const events = await harness.tenant.ask('GET', '/api/events?searchTerm=was cancelled while it was pending')
    const said = events.body.data.map((event: any) => event.description).join('\n')
    for (const ticketId of tickets) expect(said).toContain(`Ticket ${ticketId} on SIM `)
    const sim = (await harness.tenant.ask('GET', `/api/sims/${ids[0]}`)).body
    expect(sim).toMatchObject({ processingTicket: false, processingTicketCount: 0 })
    const { rows } = await sql`select from ticket_work where sim_id = any(${ids}::bigint[])`.execute(harness.root)
    expect(rows).toEqual([])
  })

  test('cannot be cancelled once it is done', async () => {
    const run = await started(harness.tenant, { type: 'refresh', sims: { ids: [999_999_999] } })

    const answer = await harness.tenant.inside('DELETE', `${PATH}/${run.id}`)

    expect(run).toMatchObject({ state: 'done', refused: 1 })
    expect(answer).toMatchObject({ status: 409, body: { code: 'bulk_ended' } })
  })

  test.each(['GET', 'DELETE'])('answers 404 for an invalid id (%s)', async (method) => {
    const answer = await harness.tenant.inside(method, `${PATH}/17`)

    expect(answer).toMatchObject({ status: 404, body: { code: 'bulk_not_found' } })
  })
})
