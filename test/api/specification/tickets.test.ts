/** Service document, sections 4.4, 2.5 and 3. */
import { describe, expect, test } from 'vitest'
import { aBridge } from '../../setup/bridge.ts'
import { anActiveSim, aPool, aSim, aTariff, aTenant, NOON, provisioned, useHarness } from '../harness.ts'
import { claim, complete, inactive, NO_TICKET, NOBODY, workOff } from './estate.ts'
import { expectLabels, expectShape, TICKET } from './shape.ts'

const harness = useHarness()
const bridge = await aBridge()
/** Executes a SIM's tickets. @returns the requests to the carrier */
const asked = (simId: number) => workOff(harness, harness.tenant, bridge, [simId])
const ask = (method: string, path: string, body?: unknown) => harness.tenant.ask(method, `/api/tickets${path}`, body)
const get = async (id: string) => (await ask('GET', `/${id}`)).body
const sim = async (id: number) => (await harness.tenant.ask('GET', `/api/sims/${id}`)).body
const aSuspendedSim = async () => {
  const sim = await aSim(harness.tenant)
  await provisioned(harness, harness.tenant, sim.id, {})
  return sim
}

describe('ticket lists', () => {
  test('4.4 GET /api/tickets: lists the tenant’s tickets newest first, unpaged', async () => {
    const made: string[] = []
    for (let minute = 0; minute < 120; minute++) {
      const { id: simId } = await aSim(harness.other)
      const provision = () => harness.other.ask('POST', '/api/tickets/provision', { simId })
      made.push((await harness.at(NOON + minute * 60_000, provision)).body.id)
    }
    const { id: simId } = await aSim(harness.tenant)
    await ask('POST', '/provision', { simId })

    const { status, headers, body } = await harness.other.ask('GET', '/api/tickets')

    expect(status).toBe(200)
    expect(headers['content-type']).toBe('application/json; charset=utf-8')
    expect(body.map(({ id }: { id: string }) => id)).toEqual(made.toReversed())
    for (const ticket of body) expectShape(ticket, TICKET)
    expect(body[0]).toEqual((await harness.other.ask('GET', `/api/tickets/${made.at(-1)}`)).body)
  })

  test('4.4 GET /api/tickets: answers [] without tickets', async () => {
    const { ask } = await aTenant(harness, 'New')

    expect((await ask('GET', '/api/tickets')).body).toEqual([])
  })
})

describe('a new ticket', () => {
  test('4.4 POST /api/tickets/provision + 2.5 Ticket: shows pool and tariff, sends them to the carrier', async () => {
    const { id: simId, iccid } = await aSim(harness.tenant)
    const [poolId, tariffId] = [await aPool(harness.tenant, { name: 'Fleet' }), await aTariff(harness.tenant)]

    const made = await ask('POST', '/provision', { simId, poolId, tariffId })
    const ticket = await get(made.body.id)

    expect(made.status).toBe(200)
    expectShape(made.body, { id: 'uuid' })
    expectShape(ticket, TICKET)
    expect(ticket).toEqual({
      id: made.body.id,
      simId,
      type: 2,
      status: 0,
      created: new Date(NOON).toISOString(),
      provisioningInfo: { pendingPoolId: poolId, pendingTariffId: tariffId, pendingUnassign: false, pendingTag: null },
    })
    const processing = { processingTicket: true, processingTicketCount: 1 }
    expect(await sim(simId)).toMatchObject({ status: 0, poolId: null, ...processing })
    expect(await asked(simId)).toEqual([
      { ticketId: ticket.id, operation: 'provision', iccid, pool: 'Fleet', tariff: 'Tariff of type 0' },
    ])
    expect(await get(made.body.id)).toEqual({ ...ticket, status: 2 })
    expect(await sim(simId)).toMatchObject({ status: 2, poolId, tariffId, processingTicket: false })
  })

  test('2.5 Ticket: shows a pending tag or unassignment', async () => {
    const { id: fresh } = await aSim(harness.tenant)
    const { id: active } = await anActiveSim(harness, harness.tenant)
    const { inside } = harness.tenant

    const tagged = await inside('POST', '/internal/tickets/provision', { simId: fresh, tag: 'later' })
    const leaving = await inside('POST', '/internal/tickets/unassign', { simId: active })

    const info = { pendingPoolId: null, pendingTariffId: null, pendingUnassign: false, pendingTag: null }
    expect((await get(tagged.body.id)).provisioningInfo).toEqual({ ...info, pendingTag: 'later' })
    expect(await get(leaving.body.id)).toMatchObject({ type: 2, provisioningInfo: { ...info, pendingUnassign: true } })
  })

  test.each([{}, { poolId: null, tariffId: null }])(
    '4.4 POST /api/tickets/provision: leaves omitted or null fields (%j) unset',
    async (left) => {
      const { id: simId, iccid } = await aSim(harness.tenant)

      const { body } = await ask('POST', '/provision', { simId, ...left })

      expect((await get(body.id)).provisioningInfo).toMatchObject({ pendingPoolId: null, pendingTariffId: null })
      expect(await asked(simId)).toEqual([{ ticketId: body.id, operation: 'provision', iccid }])
      expect(await sim(simId)).toMatchObject({ status: 2, poolId: null, tariffId: null })
    },
  )

  test('4.4 POST /api/tickets/provision: refuses what cannot be assigned', async () => {
    const { id: simId } = await aSim(harness.tenant)
    const old = await aTariff(harness.tenant)
    await inactive(harness.tenant, old)
    const refused = async (body: object) => {
      const answer = await ask('POST', '/provision', { simId, ...body })
      return [answer.status, answer.body.code]
    }

    expect(await refused({ poolId: 99_999 })).toEqual([404, 'pool_not_found'])
    expect(await refused({ poolId: await aPool(harness.other) })).toEqual([404, 'pool_not_found'])
    expect(await refused({ tariffId: 99_999 })).toEqual([404, 'tariff_not_found'])
    expect(await refused({ tariffId: await aTariff(harness.other) })).toEqual([404, 'tariff_not_found'])
    expect(await refused({ tariffId: old })).toEqual([422, 'tariff_inactive'])
    expect(await refused({ tariffId: await aTariff(harness.tenant, 2) })).toEqual([422, 'tariff_needs_pool'])
    const assigned = (await anActiveSim(harness, harness.tenant)).id
    expect(await refused({ simId: assigned })).toEqual([409, 'sim_already_assigned'])
    expect((await sim(simId)).processingTicketCount).toBe(0)
  })

  /**
   * Opens a ticket for a SIM in the right state, has two others in a wrong one refused, and executes it.
   *
   * @returns the SIM as it was with the open ticket, and as it is now
   */
  async function takes(
    kind: 'activate' | 'suspend' | 'refresh' | 'send-sms',
    type: number,
    only: 'active' | 'suspended',
    more: { readonly message?: string } = {},
  ) {
    const sims = {
      suspended: await aSuspendedSim(),
      active: await anActiveSim(harness, harness.tenant),
      fresh: await aSim(harness.tenant),
    }
    const { [only]: right, ...wrong } = sims
    const operation = kind === 'send-sms' ? 'sendSms' : kind

    const made = await ask('POST', `/${kind}`, { simId: right.id, ...more })

    expect(made.status).toBe(200)
    expectShape(made.body, { id: 'uuid' })
    const ticketId = made.body.id
    expect(await get(ticketId)).toMatchObject({ simId: right.id, type, status: 0, provisioningInfo: null })
    for (const { id: simId } of Object.values<{ id: number }>(wrong)) {
      const refused = await ask('POST', `/${kind}`, { simId, ...more })
      expect(refused).toMatchObject({ status: 409, body: { code: 'sim_state_conflict' } })
    }
    const was = await sim(right.id)
    expect(await asked(right.id)).toEqual([{ ticketId, operation, iccid: right.iccid, ...more }])
    expect((await get(ticketId)).status).toBe(2)
    return { was, is: await sim(right.id) }
  }

  test('4.4 POST /api/tickets/activate: activates a suspended SIM only', async () => {
    expect(await takes('activate', 0, 'suspended')).toMatchObject({ was: { status: 2 }, is: { status: 1 } })
  })

  test('4.4 POST /api/tickets/suspend: suspends an active SIM only', async () => {
    expect(await takes('suspend', 1, 'active')).toMatchObject({ was: { status: 1 }, is: { status: 2 } })
  })

  test('4.4 POST /api/tickets/refresh: refreshes an active SIM only', async () => {
    const { was, is } = await takes('refresh', 4, 'active')

    expect(is).toEqual({ ...was, processingTicket: false, processingTicketCount: 0 })
  })

  test.each(['x', 'é'.repeat(1600), ' "Grüße"\r\n\t\\ 💧 '])(
    '4.4 POST /api/tickets/send-sms: sends %j unchanged, to an active SIM only',
    async (message) => {
      await takes('send-sms', 3, 'active', { message })
    },
  )

  test.each(['activate', 'suspend', 'refresh', 'send-sms', 'provision'])(
    '4.4 POST /api/tickets/activate: %s answers 404 for an unknown SIM',
    async (kind) => {
      for (const simId of [NOBODY, Number.MAX_SAFE_INTEGER]) {
        const answer = await ask('POST', `/${kind}`, { simId, ...(kind === 'send-sms' ? { message: 'x' } : {}) })

        expect(answer).toMatchObject({ status: 404, body: { code: 'sim_not_found' } })
      }
    },
  )

  test('4.4 POST /api/tickets/suspend: is checked against the state after open tickets', async () => {
    const { id: simId } = await aSuspendedSim()

    const answers = []
    for (const kind of ['suspend', 'activate', 'activate', 'refresh', 'suspend', 'suspend', 'activate']) {
      answers.push([kind, (await ask('POST', `/${kind}`, { simId })).status])
    }

    expect(answers).toEqual([
      ['suspend', 409],
      ['activate', 200],
      ['activate', 409],
      ['refresh', 200],
      ['suspend', 200],
      ['suspend', 409],
      ['activate', 200],
    ])
    expect(await sim(simId)).toMatchObject({ status: 2, processingTicket: true, processingTicketCount: 4 })
  })
})

describe('a ticket', () => {
  test.each([NO_TICKET, 'not-a-uuid', '1', '%00'])(
    '4.4 GET /api/tickets/{id} + 4.4 DELETE /api/tickets/{id}: %s finds no ticket',
    async (id) => {
      for (const method of ['GET', 'DELETE']) {
        const refused = id === '%00' ? { status: 400 } : { status: 404, body: { code: 'ticket_not_found' } }
        expect(await ask(method, `/${id}`)).toMatchObject(refused)
      }
    },
  )

  test('4.4 GET /api/tickets/{id}: accepts the UUID in capital letters', async () => {
    const { id: simId } = await aSim(harness.tenant)
    const { body } = await ask('POST', '/provision', { simId })

    expect((await get(body.id.toUpperCase())).id).toBe(body.id)
  })

  test('4.4 DELETE /api/tickets/{id} + 3 Ticket Pending: cancels the ticket, leaves SIM and carrier alone', async () => {
    const { id: simId } = await aSim(harness.tenant)
    const was = await sim(simId)
    const { body: made } = await ask('POST', '/provision', { simId })
    const pending = await get(made.id)

    const cancelled = await ask('DELETE', `/${made.id}`)

    expect(cancelled.status).toBe(200)
    expectShape(cancelled.body, TICKET)
    expect(cancelled.body).toEqual({ ...pending, status: 4 })
    expect(await sim(simId)).toEqual(was)
    expect(await asked(simId)).toEqual([])
    expect(await get(made.id)).toEqual(cancelled.body)
    expect(await sim(simId)).toEqual(was)
  })

  test('3 Ticket Pending: keeps processing, complete and cancelled tickets, 409', async () => {
    const { id: simId } = await aSim(harness.tenant)
    const claimed = (await ask('POST', '/provision', { simId: (await aSim(harness.tenant)).id })).body.id
    await claim(harness, harness.tenant, claimed)
    const ended = (await ask('POST', '/provision', { simId })).body.id
    await complete(harness, harness.tenant, simId, ended)
    const { body: made } = await ask('POST', '/activate', { simId })
    await ask('DELETE', `/${made.id}`)

    for (const [id, status] of [
      [claimed, 1],
      [ended, 2],
      [made.id, 4],
    ]) {
      expect(await ask('DELETE', `/${id}`)).toMatchObject({ status: 409, body: { code: 'ticket_not_pending' } })
      expect((await get(id)).status).toBe(status)
    }
  })
})

test('4.4 GET /api/tickets/metadata: has the codes of type and status only', async () => {
  expectLabels(await ask('GET', '/metadata'), {
    type: { 0: 'Activate', 1: 'Suspend', 2: 'Provision', 3: 'Send SMS', 4: 'Refresh' },
    status: { 0: 'Pending', 1: 'Processing', 2: 'Complete', 3: 'Failed', 4: 'Cancelled' },
  })
})
