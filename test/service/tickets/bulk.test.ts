import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { TicketStatus, TicketType } from '../../../domain/codes.ts'
import type { BulkRequest } from '../../../domain/tickets/bulk.ts'
import { cancelBulkTickets, startBulkTickets } from '../../../service/tickets/bulk.ts'
import { executeTickets } from '../../../service/tickets/execute-tickets.ts'
import { BATCH, openBulkTickets } from '../../../service/tickets/open-bulk-tickets.ts'
import { cancelTicket, openTicket } from '../../../service/tickets/open-ticket.ts'
import { tenantsWithBulkWork } from '../../../service/tickets/rows/bulk.ts'
import { readBulkRun } from '../../../service/tickets/rows/bulk-reads.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { aCarrier } from '../../setup/carrier.ts'
import { aStore } from '../../setup/estate.ts'
import { withOnlySim } from '../../setup/only-sim.ts'
import { aHarness } from '../harness.ts'

const store = await aStore()
const carrier = await aCarrier()
const OPTIONS = { leaseMs: 10_000, retryMinMs: 1000, retryMaxMs: 60_000, attempts: 4, patienceMs: 3_600_000 }
/** More than two batches. */
const MANY = 2 * BATCH + 20

/** A tenant with SIMs that can be provisioned, and a worker for its runs. */
async function anEstate(sims: number) {
  const harness = await aHarness(store)
  const simIds = await harness.unprovisioned(sims)
  return {
    ...harness,
    simIds,
    start: (ask: Omit<BulkRequest, 'sims'>, ids: readonly number[] = simIds) =>
      harness.asTenant((tx) => startBulkTickets(tx, { ...ask, sims: { ids: [...ids] } })),
    work: (add: Parameters<typeof openBulkTickets>[1] = async () => {}) =>
      openBulkTickets(store, add, harness.tenantId),
    run: (id: string) => harness.asTenant((tx) => readBulkRun(tx, id)),
    cancel: (id: string) => harness.asTenant((tx) => cancelBulkTickets(tx, id)),
    /** How many tickets each SIM has. */
    ticketsOf: () =>
      harness.rows(sql<{ simId: number; count: number }>`
        select sim_id as "simId", count(*)::integer as count from tickets group by sim_id order by sim_id`),
  }
}

const tenantsDue = () => inPlatform(store, (tx) => tenantsWithBulkWork(tx, 1000))

/** Dies after its n-th batch, before that batch's jobs are enqueued. */
const dyingAfter = (batches: number) => {
  let done = 0
  return async () => {
    done++
    if (done === batches) throw new Error('killed')
  }
}

describe('openBulkTickets', () => {
  test('continues a dead worker’s run without duplicate tickets', async () => {
    const estate = await anEstate(MANY)
    const { id } = await estate.start({ type: 'provision' })
    const dueAtOnce = await tenantsDue()

    await expect(estate.work(dyingAfter(1))).rejects.toThrow('killed')
    const half = await estate.run(id)
    const dueMeanwhile = await tenantsDue()
    store.now += 60_000
    const dueLater = await tenantsDue()
    await estate.work()

    expect(half).toMatchObject({ state: 'running', notYetOpened: MANY - BATCH, counts: { pending: BATCH } })
    expect(dueAtOnce).toContain(estate.tenantId)
    expect(dueMeanwhile).not.toContain(estate.tenantId)
    expect(dueLater).toContain(estate.tenantId)
    expect(await estate.run(id)).toMatchObject({ notYetOpened: 0, refused: 0, counts: { pending: MANY } })
    expect(await estate.ticketsOf()).toEqual(estate.simIds.map((simId) => ({ simId, count: 1 })))
    expect(await tenantsDue()).not.toContain(estate.tenantId)
  })

  test('rolls back a batch that fails', async () => {
    const estate = await anEstate(3)
    const { id } = await estate.start({ type: 'provision' })
    // Fails after the tickets are inserted, when their items are settled.
    await sql`alter table bulk_items add constraint broken check (outcome <> 'opened') not valid`.execute(store.db)

    await expect(estate.work()).rejects.toThrow(/broken/)
    await sql`alter table bulk_items drop constraint broken`.execute(store.db)

    expect(await estate.ticketsOf()).toEqual([])
    expect(await estate.run(id)).toMatchObject({ notYetOpened: 3, counts: { waiting: 3, pending: 0 } })
    await estate.work()
    expect(await estate.run(id)).toMatchObject({ counts: { pending: 3 } })
  })

  test('opens each ticket once with concurrent workers', async () => {
    const estate = await anEstate(MANY)
    const { id } = await estate.start({ type: 'provision' })

    await Promise.all([estate.work(), estate.work(), estate.work()])
    await estate.work()

    expect(await estate.run(id)).toMatchObject({ notYetOpened: 0, counts: { pending: MANY, refused: 0 } })
    expect(await estate.ticketsOf()).toEqual(estate.simIds.map((simId) => ({ simId, count: 1 })))
  })

  test('enqueues a job for the tickets of all SIMs', async () => {
    const estate = await anEstate(3)
    await estate.start({ type: 'provision' })
    const enqueued: unknown[] = []

    await estate.work(async (jobs) => void enqueued.push(...jobs))

    expect(enqueued).toEqual([{ queue: 'tickets', tenantId: estate.tenantId }])
    const work = await estate.rows(sql`select sim_id as id from ticket_work order by sim_id`)
    expect(work).toEqual(estate.simIds.map((id) => ({ id })))
  })

  test('opens a tenant’s runs in request order', async () => {
    const estate = await anEstate(MANY)
    const provision = await estate.start({ type: 'provision' })
    const activate = await estate.start({ type: 'activate' })
    const suspend = await estate.start({ type: 'suspend' })

    await estate.work()

    for (const { id } of [provision, activate, suspend]) {
      expect(await estate.run(id)).toMatchObject({ counts: { pending: MANY, refused: 0 } })
    }
  })

  test('enqueues another job after twenty batches', async () => {
    const estate = await anEstate(1)
    // Twenty-one runs of one SIM are twenty-one batches.
    for (let n = 0; n < 21; n++)
      await estate.start({ type: n === 0 ? 'provision' : n % 2 === 1 ? 'activate' : 'suspend' })
    const enqueued: unknown[] = []

    await estate.work(async (jobs) => void enqueued.push(...jobs))

    expect(enqueued.at(-1)).toEqual({ queue: 'bulk', tenantId: estate.tenantId })
    expect((await estate.ticketsOf())[0]?.count).toBe(20)
    await estate.work()
    expect((await estate.ticketsOf())[0]?.count).toBe(21)
  })

  test('refuses only a SIM changed since the request', async () => {
    const estate = await anEstate(2)
    const { id } = await estate.start({ type: 'provision' })
    const simId = estate.simIds[0] ?? 0
    await estate.asTenant((tx) => openTicket(tx, { simId, type: TicketType.Provision, cause: { by: 'user' } }))

    await estate.work()

    expect(await estate.run(id)).toMatchObject({
      refused: 1,
      counts: { refused: 1, pending: 1 },
      refusals: [{ code: 'sim_already_assigned', count: 1 }],
    })
    expect(await estate.ticketsOf()).toEqual(estate.simIds.map((one) => ({ simId: one, count: 1 })))
  })
})

const execute = (tenantId: string, simId: number, network = carrier.network) =>
  withOnlySim(store, tenantId, simId, () => executeTickets(store, network, OPTIONS, tenantId))

describe('a bulk run', () => {
  test('is done when its last ticket has ended', async () => {
    const estate = await anEstate(3)
    const [first = 0, second = 0, third = 0] = estate.simIds
    const { id } = await estate.start({ type: 'provision' })
    await estate.work()
    const opened = await estate.run(id)

    await execute(estate.tenantId, first)
    const [ticket] = await estate.rows(sql<{ id: string }>`select id from tickets where sim_id = ${third}`)
    await estate.asTenant((tx) => cancelTicket(tx, ticket?.id ?? ''))
    const meanwhile = await estate.run(id)
    const dead = { ...carrier.network, perform: () => Promise.reject(new Error('killed')) }
    await expect(execute(estate.tenantId, second, dead)).rejects.toThrow('killed')
    const underWay = await estate.run(id)
    store.now += OPTIONS.leaseMs + 1
    await execute(estate.tenantId, second)

    expect(opened).toMatchObject({ state: 'running', counts: { pending: 3 } })
    expect(meanwhile).toMatchObject({ state: 'running', counts: { pending: 1, complete: 1, cancelled: 1 } })
    expect(underWay).toMatchObject({ state: 'running', counts: { pending: 0, processing: 1 } })
    expect(await estate.run(id)).toMatchObject({ state: 'done', counts: { complete: 2, cancelled: 1, processing: 0 } })
  })
})

describe('cancelBulkTickets', () => {
  test('cancels all but tickets under way', async () => {
    const estate = await anEstate(MANY)
    const [first = 0] = estate.simIds
    const { id } = await estate.start({ type: 'provision' })
    await expect(estate.work(dyingAfter(2))).rejects.toThrow('killed')
    const dead = { ...carrier.network, perform: () => Promise.reject(new Error('killed')) }
    await expect(execute(estate.tenantId, first, dead)).rejects.toThrow('killed')

    const at = await estate.cancel(id)
    const dueForTheRest = await tenantsDue()
    await estate.work()
    const after = await estate.run(id)

    // One batch is cancelled at once, the other by a worker.
    expect(at).toMatchObject({ state: 'cancelled', notYetOpened: 0, counts: { processing: 1, pending: BATCH - 1 } })
    expect(dueForTheRest).not.toContain(estate.tenantId)
    expect(after).toMatchObject({ state: 'cancelled', counts: { pending: 0, processing: 1, cancelled: MANY - 1 } })
    expect(await estate.rows(sql`select sim_id as id from ticket_work`)).toEqual([{ id: first }])
    expect((await estate.ticketsOf()).length).toBe(2 * BATCH)
    expect(await estate.rows(sql`select 1 from bulk_work`)).toEqual([])
  })

  test('enqueues a job for a SIM’s next ticket', async () => {
    const estate = await anEstate(1)
    const [simId = 0] = estate.simIds
    await estate.complete({ simId, type: TicketType.Provision })
    const { id } = await estate.start({ type: 'activate' })
    await estate.work()
    await estate.asTenant((tx) => openTicket(tx, { simId, type: TicketType.Suspend, cause: { by: 'user' } }))
    store.jobs.length = 0

    await estate.cancel(id)

    expect(store.jobs).toContainEqual({ queue: 'tickets', tenantId: estate.tenantId })
    expect(await estate.rows(sql`select 1 from ticket_work where due_at <= ${new Date(store.now)}`)).toHaveLength(1)
  })
})

describe('tickets of a bulk run', () => {
  test('are unique by run and SIM', async () => {
    const estate = await anEstate(1)
    const { id } = await estate.start({ type: 'provision' })
    await estate.work()

    const again = estate.asTenant((tx) =>
      sql`insert into tickets (id, sim_id, type, status, created_at, cause, next_attempt_at, bulk_id)
        select gen_random_uuid(), sim_id, type, ${TicketStatus.Complete}, created_at, cause, next_attempt_at, bulk_id
          from tickets where bulk_id = ${id}`.execute(tx.q),
    )

    await expect(again).rejects.toThrow(/tickets_bulk/)
  })
})
