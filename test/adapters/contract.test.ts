import { sql } from 'kysely'
import { pino } from 'pino'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { TicketStatus, TicketType } from '../../domain/codes.ts'
import { startSweeps } from '../../process/start-sweeps.ts'
import { startBulkTickets } from '../../service/tickets/bulk.ts'
import { executeTickets } from '../../service/tickets/execute-tickets.ts'
import { openBulkTickets } from '../../service/tickets/open-bulk-tickets.ts'
import { openTicket } from '../../service/tickets/open-ticket.ts'
import { readBulkRun } from '../../service/tickets/rows/bulk-reads.ts'
import { findTicket } from '../../service/tickets/rows/tickets.ts'
import { connect } from '../../store/connect.ts'
import { inTenant, type Store } from '../../store/tenancy.ts'
import { workLists } from '../../worker/work-lists.ts'
import { aCarrier } from '../setup/carrier.ts'
import { freshDatabase } from '../setup/database.ts'
import { aTenant, someSims } from '../setup/estate.ts'
import { requireRedis } from '../setup/requirements.ts'
import { until } from '../setup/soon.ts'
import { aGate, harnessAt, type Where } from './harness.ts'

const redisUrl = requireRedis('queues on Redis')
const database = await freshDatabase()
afterAll(database.drop)

/** Queues of the test's own: other files' consumers would take its jobs. */
const backends: [string, Where | undefined][] = [
  ['PostgreSQL', { redisUrl: '', databaseUrl: database.url }],
  ['Redis', redisUrl === undefined ? undefined : { redisUrl: `${redisUrl}/1`, databaseUrl: database.url }],
]

for (const [name, where = { redisUrl: '', databaseUrl: '' }] of backends) {
  describe.skipIf(where.databaseUrl === '')(`a queue on ${name}`, () => {
    test('runs once for twenty jobs enqueued before it starts', async () => {
      const harness = harnessAt(where)
      let runs = 0
      await harness.queues.add(Array.from({ length: 20 }, () => harness.job(1)))

      harness.consume(async () => void runs++)
      await until('the run', () => runs > 0)
      await harness.idle()

      expect(runs).toBe(1)
    })

    test('runs once more for twenty jobs enqueued meanwhile', async () => {
      const harness = harnessAt(where)
      const gate = aGate()
      const log: string[] = []
      let isPast = false
      harness.consume(async (job) => {
        if ('webhookId' in job && job.webhookId === 2) {
          isPast = true
          return
        }
        log.push('begin')
        await gate.opened
        log.push('end')
      })
      await harness.queues.add([harness.job(1)])
      await until('the first run', () => log.length === 1)

      await harness.queues.add(Array.from({ length: 20 }, () => harness.job(1)))
      await harness.queues.add([harness.job(2)])
      await until('a job after them', () => isPast)
      const during = [...log]
      gate.open()
      await until('the second run', () => log.length === 4)
      await harness.idle()

      expect(during).toEqual(['begin'])
      expect(log).toEqual(['begin', 'end', 'begin', 'end'])
    })

    test('never runs one piece of work twice at once', async () => {
      const harness = harnessAt(where)
      const running = new Set<number>()
      let [overlaps, enqueued, heard] = [0, 0, 0]
      const handle = async (job: object) => {
        const work = 'webhookId' in job ? Number(job.webhookId) : 0
        if (running.has(work)) overlaps++
        running.add(work)
        const seen = enqueued
        await new Promise((done) => setTimeout(done, 3))
        heard = Math.max(heard, seen)
        running.delete(work)
      }
      harness.consume(handle)
      harness.consume(handle)

      for (let i = 0; i < 120; i++) {
        enqueued++
        await harness.queues.add([harness.job(i % 2)])
      }
      await until('the last job', () => heard === enqueued)
      await until('all runs', () => running.size === 0)

      expect(overlaps).toBe(0)
    })

    test('runs different work side by side', async () => {
      const harness = harnessAt(where)
      const gate = aGate()
      const running = new Set<number>()
      harness.consume(async (job) => {
        if (job.queue === 'webhooks') running.add(job.webhookId)
        await gate.opened
      })

      harness.queues.enqueue([1, 2, 3, 4, 5].map((n) => harness.job(n)))
      await until('five at once', () => running.size === 5)
      gate.open()

      expect([...running].toSorted()).toEqual([1, 2, 3, 4, 5])
    })

    test('delivers jobs to their queue, once a tenant', async () => {
      const harness = harnessAt(where)
      const heard: string[] = []
      await harness.queues.add(
        (['bulk', 'evaluate', 'mail', 'tickets', 'workflows'] as const).flatMap((queue) => {
          const job = { queue, tenantId: harness.tenantId }
          return [job, job]
        }),
      )
      await harness.queues.add([harness.job(7), harness.job(8)])

      harness.consume(
        async (job) => void heard.push(job.queue === 'webhooks' ? `webhooks ${job.webhookId}` : job.queue),
      )
      await until('seven runs', () => heard.length === 7)
      await harness.idle()

      expect(heard.toSorted()).toEqual(['bulk', 'evaluate', 'mail', 'tickets', 'webhooks 7', 'webhooks 8', 'workflows'])
    })

    test('runs again after a handler threw', async () => {
      const harness = harnessAt(where)
      const gate = aGate()
      let runs = 0
      harness.consume(async () => {
        runs++
        if (runs > 1) return
        await gate.opened
        throw new Error('the first run fails')
      })
      await harness.queues.add([harness.job(1)])
      await until('the first run', () => runs === 1)
      await harness.queues.add([harness.job(1)])
      gate.open()
      await until('the job that was enqueued meanwhile', () => runs === 2)
      await harness.idle()
      expect(runs).toBe(2)
      await harness.queues.add([harness.job(1)])
      await until('a job after it', () => runs === 3)

      expect(harness.failed).toEqual(['the first run fails'])
    })

    test('finishes runs on close and leaves waiting jobs', async () => {
      const harness = harnessAt(where)
      const gate = aGate()
      const log: string[] = []
      const first = harness.consume(async (job) => {
        if ('webhookId' in job && job.webhookId !== 1) return
        log.push('begin')
        await gate.opened
        log.push('end')
      })
      await harness.queues.add([harness.job(1)])
      await until('the run', () => log.length === 1)
      await harness.queues.add([harness.job(1)])

      let others = 0
      const idle = harness.consume(async () => void others++)
      await until('a run of another consumer', async () => {
        await harness.queues.add([harness.job(2)])
        return others > 0
      })
      const closing = first.close().then(() => log.push('closed'))
      // It has nothing to wait for, and begins to close later.
      await idle.close()
      gate.open()
      await closing
      const afterClose = [...log]
      let isNext = false
      harness.consume(async (job) => {
        if ('webhookId' in job && job.webhookId === 1) isNext = true
      })
      await until('the next run', () => isNext)

      expect(afterClose).toEqual(['begin', 'end', 'closed'])
    })

    test('counts jobs by queue and state', async () => {
      const harness = harnessAt(where)
      const gate = aGate()
      let begun = false
      harness.consume(async () => {
        begun = true
        await gate.opened
      })
      await harness.queues.add([harness.job(1)])
      await until('the run', () => begun)

      const counts = await harness.queues.counts()
      gate.open()

      expect(counts).toMatchObject({ webhooks: { active: expect.any(Number), wait: 0 }, mail: { active: 0 } })
      expect(counts.webhooks?.active).toBeGreaterThanOrEqual(1)
      await expect(harness.queues.ping()).resolves.toBeUndefined()
    })
  })
}

/** A tenant whose store enqueues nothing, and sweeps that do. */
async function aSweeper() {
  const { db, close } = connect(database.url, { max: 6 })
  onTestFinished(close)
  const jobless: Store = { db, clock: Date.now, enqueue: () => {} }
  const tenantId = await aTenant(jobless)
  const harness = harnessAt({ redisUrl: '', databaseUrl: database.url }, tenantId)
  const store = { ...jobless, enqueue: harness.queues.enqueue }
  const lists = () => workLists({ store, webhookLogMs: 0, onMonthsAhead: () => undefined })
  return { jobless, tenantId, harness, sweep: () => startSweeps(lists(), 50, pino({ enabled: false })) }
}

describe('the sweep', () => {
  test('executes a ticket whose job was lost', async () => {
    const carrier = await aCarrier()
    const { jobless, tenantId, harness, sweep } = await aSweeper()
    const ticketId = await inTenant(jobless, tenantId, async (tx) => {
      const [{ id: simId } = { id: 0 }] = await someSims(tx, 1)
      return openTicket(tx, { simId, type: TicketType.Provision, cause: { by: 'user' } })
    })
    const options = { leaseMs: 1000, retryMinMs: 100, retryMaxMs: 1000, attempts: 4, patienceMs: 3_600_000 }
    // Like a worker that is killed while it waits for the carrier: it leaves nothing but the lease.
    const dies = { ...carrier.network, perform: () => Promise.reject(new Error('killed')) }
    await expect(executeTickets(jobless, dies, options, tenantId)).rejects.toThrow('killed')
    const heard: string[] = []
    const { close: stopListening } = harness.consume(async (job) => {
      heard.push(job.queue === 'webhooks' ? 'marker' : job.queue)
      if (job.queue === 'tickets') await executeTickets(jobless, carrier.network, options, tenantId)
    })
    const status = async () => (await inTenant(jobless, tenantId, (tx) => findTicket(tx, ticketId)))?.status
    await harness.queues.add([harness.job(0)])
    await until('the marker', () => heard.length > 0)
    await harness.idle()
    const withoutJob = { heard: [...heard], status: await status() }

    const sweeping = sweep()
    await until('the ticket', async () => (await status()) === TicketStatus.Complete)
    await sweeping.stop()
    await stopListening()
    const { rows } = await inTenant(jobless, tenantId, (tx) => sql`select 1 from ticket_work`.execute(tx.q))

    expect(withoutJob).toEqual({ heard: ['marker'], status: TicketStatus.Processing })
    expect(heard).toContain('tickets')
    expect(rows).toEqual([])
  })

  test('opens a bulk run’s tickets after a lost job', async () => {
    const { jobless, tenantId, harness, sweep } = await aSweeper()
    const run = await inTenant(jobless, tenantId, async (tx) => {
      const ids = (await someSims(tx, 3)).map(({ id }) => id)
      return startBulkTickets(tx, { type: 'provision', sims: { ids } })
    })
    let isWoken = false
    const { close: stopListening } = harness.consume(async (job) => {
      if (job.queue === 'bulk') await openBulkTickets(jobless, harness.queues.add, tenantId)
      if (job.queue === 'tickets') isWoken = true
    })

    const sweeping = sweep()
    await until('the job of the tickets', () => isWoken)
    await sweeping.stop()
    await stopListening()
    const after = await inTenant(jobless, tenantId, (tx) => readBulkRun(tx, run.id))

    expect(run).toMatchObject({ notYetOpened: 3 })
    expect(after).toMatchObject({ notYetOpened: 0, counts: { pending: 3 } })
  })
})
