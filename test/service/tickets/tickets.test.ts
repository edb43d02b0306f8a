import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { httpNetwork } from '../../../adapters/carrier/http-network.ts'
import { SimStatus, TicketStatus, TicketType } from '../../../domain/codes.ts'
import type { Cause } from '../../../domain/tickets/ticket.ts'
import { readSim } from '../../../service/sims/rows/sim-reads.ts'
import { executeTickets } from '../../../service/tickets/execute-tickets.ts'
import { cancelTicket, openTicket } from '../../../service/tickets/open-ticket.ts'
import { findTicket, tenantsWithTickets } from '../../../service/tickets/rows/tickets.ts'
import { freePort } from '../../../stack/free-port.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { aBridge } from '../../setup/bridge.ts'
import { aCarrier } from '../../setup/carrier.ts'
import { aStore, aTenantOf, someSims } from '../../setup/estate.ts'
import { withOnlySim } from '../../setup/only-sim.ts'

const USER: Cause = { by: 'user' }
const OPTIONS = { leaseMs: 10_000, retryMinMs: 1000, retryMaxMs: 60_000, attempts: 4, patienceMs: 3_600_000 }
const store = await aStore()
const carrier = await aCarrier()
const { tenantId, asTenant, rows } = await aTenantOf(store)

const aSim = async () => (await asTenant((tx) => someSims(tx, 1)))[0]?.id ?? 0
const open = (simId: number, type: TicketType, cause: Cause = USER, also = {}) =>
  asTenant((tx) => openTicket(tx, { simId, type, cause, ...also }))
const execute = (simId: number, network = carrier.network, options = OPTIONS) =>
  withOnlySim(store, tenantId, simId, () => executeTickets(store, network, options, tenantId))
const ticket = (id: string) => asTenant((tx) => findTicket(tx, id))
const statusOf = async (simId: number) =>
  (await rows(sql<{ status: SimStatus }>`select status from sims where id = ${simId}`))[0]?.status
async function activeSim() {
  const simId = await aSim()
  await open(simId, TicketType.Provision)
  await open(simId, TicketType.Activate)
  await execute(simId)
  return simId
}

const openOf = async (id: number) => (await asTenant((tx) => readSim(tx, { by: 'id', id })))?.sim.processingTicketCount

describe('tickets of a SIM', () => {
  test('are executed in the order they were opened', async () => {
    const simId = await aSim()
    const ids = [
      await open(simId, TicketType.Provision),
      await open(simId, TicketType.Activate),
      await open(simId, TicketType.Suspend),
    ]
    const waiting = await openOf(simId)

    await execute(simId)

    expect(waiting).toBe(3)
    for (const id of ids) expect(await ticket(id)).toMatchObject({ status: TicketStatus.Complete, attempts: 1 })
    expect(await statusOf(simId)).toBe(SimStatus.Suspended)
    expect(await openOf(simId)).toBe(0)
    expect(await rows(sql`select from ticket_work where sim_id = ${simId}`)).toEqual([])
  })

  test('fail without the carrier if no longer valid', async () => {
    const simId = await aSim()
    const provision = await open(simId, TicketType.Provision)
    const activate = await open(simId, TicketType.Activate)
    await asTenant((tx) => cancelTicket(tx, provision))
    const { calls } = await carrier.stats()

    await execute(simId)

    expect(await ticket(provision)).toMatchObject({ status: TicketStatus.Cancelled, attempts: 0 })
    expect(await ticket(activate)).toMatchObject({
      status: TicketStatus.Failed,
      attempts: 0,
      failureCode: 'sim_state_conflict',
      failureText: 'an unprovisioned SIM cannot be activated',
    })
    expect(await statusOf(simId)).toBe(SimStatus.Unprovisioned)
    expect((await carrier.stats()).calls).toBe(calls)
  })

  test('complete without the carrier if nothing is left', async () => {
    const simId = await activeSim()
    const suspend = await open(simId, TicketType.Suspend)
    const activate = await open(simId, TicketType.Activate)
    await asTenant((tx) => cancelTicket(tx, suspend))
    const { calls } = await carrier.stats()

    await execute(simId)

    expect(await ticket(suspend)).toMatchObject({ status: TicketStatus.Cancelled, attempts: 0 })
    expect(await ticket(activate)).toMatchObject({ status: TicketStatus.Complete, attempts: 0, failureCode: null })
    expect(await statusOf(simId)).toBe(SimStatus.Active)
    expect((await carrier.stats()).calls).toBe(calls)
  })

  test('are retried after a pause, in order', async () => {
    const simId = await aSim()
    const first = await open(simId, TicketType.Provision)
    const second = await open(simId, TicketType.Activate)
    await carrier.turn({ failureRate: 1 })
    await execute(simId)
    await carrier.turn({ failureRate: 0 })

    const afterFailure = await ticket(first)
    await execute(simId)
    const beforePause = await ticket(first)
    store.now += 2000
    await execute(simId)

    expect(afterFailure).toMatchObject({ status: TicketStatus.Processing, attempts: 1 })
    expect(beforePause).toMatchObject({ attempts: 1 })
    expect(await ticket(first)).toMatchObject({ status: TicketStatus.Complete, attempts: 2 })
    expect(await ticket(second)).toMatchObject({ status: TicketStatus.Complete })
  })

  test('fail after the last attempt, changing nothing', async () => {
    const simId = await aSim()
    const id = await open(simId, TicketType.Provision)
    await carrier.turn({ failureRate: 1 })
    for (let i = 0; i < OPTIONS.attempts; i++) {
      await execute(simId)
      store.now += OPTIONS.retryMaxMs
    }
    await carrier.turn({ failureRate: 0 })

    expect(await ticket(id)).toMatchObject({
      status: TicketStatus.Failed,
      attempts: 4,
      failureCode: expect.any(String),
    })
    expect(await statusOf(simId)).toBe(SimStatus.Unprovisioned)
  })

  test('act once at the carrier despite lost responses', async () => {
    const before = await carrier.stats()
    const simId = await aSim()
    const id = await open(simId, TicketType.Provision)
    await carrier.turn({ actsThenTimesOutRate: 1 })
    await execute(simId)
    await carrier.turn({ actsThenTimesOutRate: 0 })
    store.now += 2000
    await execute(simId)

    const after = await carrier.stats()
    expect(await ticket(id)).toMatchObject({ status: TicketStatus.Complete, attempts: 2 })
    expect(after.effects - before.effects).toBe(1)
    expect(after.doubleEffects).toBe(0)
  })

  test('are claimed again when their worker dies', async () => {
    const simId = await aSim()
    const id = await open(simId, TicketType.Provision)
    const gone = { ...carrier.network, perform: () => Promise.reject(new Error('the process was killed here')) }
    await expect(execute(simId, gone)).rejects.toThrow('killed')

    await execute(simId)
    const leased = await ticket(id)
    store.now += OPTIONS.leaseMs
    const work = await inPlatform(store, (tx) => tenantsWithTickets(tx, 100))
    await execute(simId)

    expect(leased).toMatchObject({ status: TicketStatus.Processing, attempts: 1 })
    expect(work).toContain(tenantId)
    expect(await ticket(id)).toMatchObject({ status: TicketStatus.Complete, attempts: 2 })
  })
})

describe('suspensions', () => {
  const watchdog: Cause = { by: 'watchdog', rule: 'sim-overage', cycle: '2026-11', until: 'renewal', workflowId: 'w' }
  const suspension = (simId: number) =>
    rows(sql`select cause, rule from suspensions where sim_id = ${simId} and closed_at is null`)

  test('of a watchdog’s rule become a person’s when a person suspends again', async () => {
    const simId = await activeSim()
    await open(simId, TicketType.Suspend, watchdog)
    await execute(simId)
    const byRule = await suspension(simId)
    const { calls } = await carrier.stats()

    const id = await open(simId, TicketType.Suspend)
    await execute(simId)

    expect(byRule).toEqual([{ cause: 'watchdog', rule: 'sim-overage' }])
    expect(await ticket(id)).toMatchObject({ status: TicketStatus.Complete, attempts: 0 })
    expect(await suspension(simId)).toEqual([{ cause: 'user', rule: null }])
    expect((await carrier.stats()).calls).toBe(calls)
    await expect(open(simId, TicketType.Suspend)).rejects.toMatchObject({ code: 'sim_state_conflict' })
  })

  test('end when the SIM is activated', async () => {
    const simId = await activeSim()
    await open(simId, TicketType.Suspend)
    await open(simId, TicketType.Activate)
    await execute(simId)

    expect(await suspension(simId)).toEqual([])
  })
})

describe('a ticket that failed at the carrier', () => {
  const eventsOf = async (id: string) => {
    const events = sql<{ description: string }>`select description from events where description like ${`%${id}%`}`
    return (await rows(events)).map(({ description }) => description)
  }

  test('hides the carrier’s address from tenants', async () => {
    const address = `127.0.0.1:${await freePort()}`
    const away = httpNetwork({ url: `http://${address}`, secret: 'secret-of-the-tests', timeoutMs: 30_000 })
    const id = await open(await aSim(), TicketType.Provision)
    const simId = (await ticket(id))?.simId ?? 0

    await execute(simId, away, { ...OPTIONS, attempts: 2 })
    const waiting = await ticket(id)
    store.now += OPTIONS.retryMaxMs
    await execute(simId, away, { ...OPTIONS, attempts: 2 })

    const [event] = await eventsOf(id)
    const failed = await ticket(id)
    expect(event).toContain('the carrier could not be reached (carrier_unreachable).')
    expect(event).not.toContain('127.0.0.1')
    for (const seen of [waiting, failed]) {
      expect(seen).toMatchObject({ failureText: 'the carrier could not be reached' })
      expect(seen?.failureDetail).toContain(address)
    }
  })

  test('shows tenants only the code of a bridge', async () => {
    const refusing = await aBridge()
    refusing.answer = () => 'refused'
    const simId = await aSim()
    const id = await open(simId, TicketType.Provision)

    await execute(simId, refusing.network)

    expect(await eventsOf(id)).toEqual([expect.stringMatching(/: the carrier refused it \(not_allowed\)\.$/)])
    expect((await ticket(id))?.failureDetail).toContain('the test says so')
  })
})

describe('an SMS or a refresh', () => {
  const patience = { ...OPTIONS, retryMaxMs: 300_000, attempts: 100, patienceMs: 900_000 }

  test.each([
    ['an SMS', TicketType['Send SMS'], { message: 'reboot' }],
    ['a refresh', TicketType.Refresh, {}],
  ])('is given up within patienceMs: %s', async (_, type, also) => {
    const away = await aBridge()
    away.answer = () => 'away'
    const simId = await activeSim()
    const id = await open(simId, type, USER, also)
    const behind = await open(simId, TicketType.Suspend)
    const opened = store.now

    for (let tries = 0; tries < 60 && (await ticket(id))?.status !== TicketStatus.Failed; tries++) {
      await execute(simId, away.network, patience)
      store.now += 60_000
    }

    const failed = await ticket(id)
    expect(failed).toMatchObject({ status: TicketStatus.Failed, failureCode: 'carrier_unavailable' })
    const after = (failed?.finishedAt?.getTime() ?? 0) - opened
    expect(after).toBeGreaterThan(300_000)
    expect(after).toBeLessThanOrEqual(900_000)
    expect(away.requests.length).toBeGreaterThan(3)
    expect((await ticket(behind))?.status).not.toBe(TicketStatus.Failed)
  })
})
