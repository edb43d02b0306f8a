/** The carrier refuses our credentials: probes, waiting tickets, and notices to people. */
import { sql } from 'kysely'
import { beforeEach, describe, expect, test } from 'vitest'
import { httpNetwork } from '../../../adapters/carrier/http-network.ts'
import { CarrierError, type Network } from '../../../adapters/carrier/network.ts'
import { EventSeverity, TicketStatus, TicketType } from '../../../domain/codes.ts'
import { createMetrics } from '../../../process/metrics.ts'
import { executeTickets } from '../../../service/tickets/execute-tickets.ts'
import { openTicket } from '../../../service/tickets/open-ticket.ts'
import { lockCarrierRefusal } from '../../../service/tickets/rows/carrier-refusals.ts'
import { tenantsWithTickets } from '../../../service/tickets/rows/tickets.ts'
import { inPlatform, type PlatformTx } from '../../../store/tenancy.ts'
import { carrierDependency } from '../../../worker/carrier-dependency.ts'
import { aCarrier } from '../../setup/carrier.ts'
import { aStore } from '../../setup/estate.ts'
import { heldOpen, lockWaiters } from '../../setup/lock-waits.ts'
import { soon } from '../../setup/soon.ts'
import { aHarness, type Harness, operatorNotices } from '../harness.ts'

const MINUTE = 60_000
const OPTIONS = { leaseMs: MINUTE, retryMinMs: 1000, retryMaxMs: MINUTE, attempts: 3, patienceMs: 15 * MINUTE }
const store = await aStore()
const carrier = await aCarrier()
const expired = () => httpNetwork({ url: carrier.url, secret: 'expired', timeoutMs: 30_000 })

const execute = (harness: Harness, network = carrier.network) =>
  executeTickets(store, network, OPTIONS, harness.tenantId)
/** A tenant with SIMs, each with a ticket to provision it. */
async function toProvision(count: number) {
  const harness = await aHarness(store)
  const sims = await harness.unprovisioned(count)
  for (const simId of sims) {
    await harness.asTenant((tx) => openTicket(tx, { simId, type: TicketType.Provision, cause: { by: 'user' } }))
  }
  return { ...harness, sims }
}
const tickets = (harness: Harness) =>
  harness.rows(sql<{ status: TicketStatus; attempts: number }>`select status, attempts from tickets order by seq`)
const statuses = async (harness: Harness) => (await tickets(harness)).map(({ status }) => status)
const attempts = async (harness: Harness) => (await tickets(harness)).reduce((sum, one) => sum + one.attempts, 0)
/** Events of the tenant about the carrier, the newest first. */
const events = async (harness: Harness) => {
  const found = await harness.rows(sql<{ title: string; severity: number }>`
    select title, severity from events where title like 'The carrier%' order by id desc`)
  return found.map(({ title, severity }) => [title, severity])
}
const { Pending, Processing, Complete, Failed } = TicketStatus
/** Requests that the carrier has refused since. */
async function counter() {
  const { unauthorized } = await carrier.stats()
  return async () => (await carrier.stats()).unauthorized - unauthorized
}

beforeEach(async () => {
  await carrier.turn({ refusesSecret: false, failureRate: 0 })
  await sql`delete from carrier_refusals`.execute(store.db)
  await sql`delete from events where tenant_id is null`.execute(store.db)
  await sql`delete from operator_notices`.execute(store.db)
})

describe('while the carrier refuses our credentials', () => {
  test('tickets wait, use up no attempts, and go on by themselves', async () => {
    const harness = await toProvision(120)
    await carrier.turn({ refusesSecret: true })
    const refused = await counter()

    await execute(harness)
    expect(await refused()).toBe(50)
    expect(await statuses(harness)).toEqual(harness.sims.map(() => Pending))
    for (let minutes = 0; minutes < 40; minutes++) {
      store.now += MINUTE
      await execute(harness)
    }
    expect(await refused()).toBe(50 + 40)
    expect(await attempts(harness)).toBe(0)
    expect(await statuses(harness)).toEqual(harness.sims.map(() => Pending))
    // So a sweep enqueues its job.
    expect(await inPlatform(store, (tx) => tenantsWithTickets(tx, 100))).toContain(harness.tenantId)

    await carrier.turn({ refusesSecret: false })
    store.now += 16_000
    await execute(harness)
    expect(await statuses(harness)).toEqual(harness.sims.map(() => Complete))
    expect(await attempts(harness)).toBe(120)
  })

  test('one probe is sent at a time, by all workers together', async () => {
    const [one, other] = [await toProvision(3), await toProvision(3)]
    await carrier.turn({ refusesSecret: true })
    await execute(one)
    await execute(other)
    const refused = await counter()

    store.now += MINUTE
    // Both see that a probe is due before either takes it.
    const release = await heldOpen<PlatformTx>(
      (work) => inPlatform(store, work),
      (tx) => lockCarrierRefusal(tx, carrier.network.credential),
    )
    const both = Promise.all([execute(one), execute(other)])
    await soon(async () => expect(await lockWaiters(store)).toBe(2))
    await Promise.all([release(), both])
    expect(await refused()).toBe(1)

    await execute(other)
    expect(await refused()).toBe(1)
  })

  test('a probe whose worker dies is left to others after its lease', async () => {
    const harness = await toProvision(2)
    await carrier.turn({ refusesSecret: true })
    await execute(harness)
    store.now += MINUTE
    const dying = { ...carrier.network, perform: () => Promise.reject(new Error('killed')) }
    await expect(execute(harness, dying)).rejects.toThrow('killed')
    await carrier.turn({ refusesSecret: false })

    store.now += OPTIONS.leaseMs - 1
    await execute(harness)
    expect(await statuses(harness)).not.toContain(Complete)
    store.now += 1
    await execute(harness)
    expect(await statuses(harness)).toEqual([Complete, Complete])
  })

  test('a probe that gets no answer leaves the state as it is', async () => {
    const harness = await toProvision(3)
    await carrier.turn({ refusesSecret: true })
    await execute(harness)
    await carrier.turn({ refusesSecret: false, failureRate: 1 })
    store.now += MINUTE
    await execute(harness)
    expect(await attempts(harness)).toBe(1)
    await carrier.turn({ failureRate: 0 })
    store.now += MINUTE
    await execute(harness)
    expect(await statuses(harness)).toEqual([Complete, Complete, Complete])
  })

  test('a worker with another key goes on', async () => {
    const harness = await toProvision(4)
    await execute(harness, expired())
    expect(await attempts(harness)).toBe(0)
    await execute(harness, expired())
    expect(await statuses(harness)).not.toContain(Complete)

    await execute(harness)
    expect(await statuses(harness)).toEqual(harness.sims.map(() => Complete))
  })

  test('an SMS that waited too long is not sent late', async () => {
    const harness = await aHarness(store)
    const [stale = 0, other = 0] = await harness.activeSims(2)
    const send = (simId: number) =>
      harness.asTenant((tx) =>
        openTicket(tx, { simId, type: TicketType['Send SMS'], message: 'reboot', cause: { by: 'user' } }),
      )
    await carrier.turn({ refusesSecret: true })
    await send(stale)
    await execute(harness)
    store.now += OPTIONS.patienceMs + MINUTE
    await send(other)
    await carrier.turn({ refusesSecret: false })
    await execute(harness)

    const ended = await harness.rows(sql`select status, failure_code as code from tickets order by seq desc limit 2`)
    expect(ended).toEqual([
      { status: Complete, code: null },
      { status: Failed, code: 'carrier_unauthorized' },
    ])
  })
})

describe('an outage of our credentials', () => {
  test('is told once, to all tenants and to the operator', async () => {
    const [one, other] = [await toProvision(10), await toProvision(10)]
    const since = store.now
    await carrier.turn({ refusesSecret: true })
    for (let minutes = 0; minutes < 10; minutes++) {
      for (const harness of [one, other]) await execute(harness)
      store.now += MINUTE
    }
    const told = ['The carrier cannot be asked', EventSeverity.Critical]
    for (const harness of [one, other]) expect(await events(harness)).toEqual([told])
    const body = {
      kind: 'carrierRefuses',
      since: new Date(since).toISOString(),
      answer: expect.stringMatching(/refused our secret \(401\)/),
    }
    expect(await operatorNotices(store)).toMatchObject([{ tenant: null, body, count: 1 }])

    await carrier.turn({ refusesSecret: false })
    for (const harness of [one, other]) await execute(harness)
    const ended = ['The carrier can be asked again', EventSeverity.Info]
    for (const harness of [one, other]) expect(await events(harness)).toEqual([ended, told])
  })

  test('is told of a single ticket once its probe is refused too', async () => {
    const harness = await toProvision(1)
    await carrier.turn({ refusesSecret: true })
    await execute(harness)
    expect(await events(harness)).toEqual([])
    store.now += 1000
    await execute(harness)
    expect(await events(harness)).toHaveLength(1)
  })

  test('is shown by the worker’s readiness and metric', async () => {
    const metrics = createMetrics()
    const { check } = carrierDependency(metrics, store, carrier.network)
    const metric = async () => (await metrics.registry.metrics()).match(/^simherd_carrier_refused (.*)$/m)?.[1]
    expect([await check(), await metric()]).toEqual(['reachable', '0'])
    const harness = await toProvision(2)
    await carrier.turn({ refusesSecret: true })
    await execute(harness)
    await expect(check()).rejects.toThrow(/^reachable, but refuses our secret since 20\d\d-.*: check CARRIER_SECRET$/)
    expect(await metric()).toBe('1')
  })

  test('ends when another key has taken the place of the refused', async () => {
    const harness = await toProvision(4)
    await execute(harness, expired())
    store.now += 2 * MINUTE
    await execute(harness)

    expect((await events(harness)).map(([title]) => title)).toEqual([
      'The carrier can be asked again',
      'The carrier cannot be asked',
    ])
  })
})

test('a refusal among answers that accept our credentials is the ticket’s own', async () => {
  const harness = await toProvision(5)
  const [barred] = await harness.rows(sql<{ id: string }>`select id from tickets order by seq limit 1`)
  const refusal = new CarrierError('forbidden', { code: 'carrier_unauthorized', retryable: true })
  const perform: Network['perform'] = async (request, options) => {
    if (request.ticketId === barred?.id) throw refusal
    await new Promise((resolve) => setTimeout(resolve, 50))
    return carrier.network.perform(request, options)
  }
  const network = { ...carrier.network, perform }
  await execute(harness, network)
  expect(await statuses(harness)).toEqual([Processing, Complete, Complete, Complete, Complete])
  expect(await attempts(harness)).toBe(5)
  expect(await events(harness)).toEqual([])
})
