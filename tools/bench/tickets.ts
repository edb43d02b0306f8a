/**
 * Tickets a second, of one pool and of all pools, in batches; and singly: 16 tenants at once, each of which opens a ticket
 * when the one before has ended. The carrier answers at once. Beside them two bare transactions of one row a ticket, 16
 * at once: what claiming and ending it needs at the least.
 *
 * Usage: node tools/bench/tickets.ts [--sims 100000] [--tickets 800]. Pools have 1,000 SIMs. Exits with 1 below a target.
 */
import { randomUUID } from 'node:crypto'
import { parseArgs } from 'node:util'
import { sql } from 'kysely'
import pg from 'pg'
import type { Network } from '../../adapters/carrier/network.ts'
import { TicketStatus, TicketType } from '../../domain/codes.ts'
import { executeTickets } from '../../service/tickets/execute-tickets.ts'
import { insertTickets } from '../../service/tickets/rows/tickets.ts'
import { wrongSums } from '../../service/usage/rows/check-sums.ts'
import { connect } from '../../store/connect.ts'
import { inTenant, type Store } from '../../store/tenancy.ts'
import { anEstate } from './estate.ts'
import { machine, median, spread } from './measure.ts'

const AT_ONCE = 16
const SIMS_OF_EACH = 100
const ROUNDS = 5
const OPTIONS = { leaseMs: 60_000, retryMinMs: 1000, retryMaxMs: 60_000, attempts: 4, patienceMs: 3_600_000 }

const { values } = parseArgs({
  options: { sims: { type: 'string', default: '100000' }, tickets: { type: 'string', default: '800' } },
})
const [sims, tickets] = [Number(values.sims), Number(values.tickets)]
if (!Number.isInteger(sims) || sims < 10_000) throw new Error(`--sims: got ${values.sims}, expected 10,000 or more`)
// A pool has 800 Active SIMs.
if (!Number.isInteger(tickets) || tickets < 1 || tickets > 800)
  throw new Error(`--tickets: got ${values.tickets}, expected 1 to 800`)

const estate = await anEstate(sims)
const { tenantId } = estate
const { db, close } = connect(estate.url, { max: AT_ONCE + 4 })
const store: Store = { db, clock: Date.now, enqueue: () => undefined }
const bare = new pg.Pool({ connectionString: estate.url, max: AT_ONCE })
const network: Network = {
  credential: 'bench',
  perform: async ({ ticketId }) => ({ ticketId, effect: 'done' }),
  ping: async () => undefined,
}

/** Runs work for each, 16 at once. */
async function each<T>(all: readonly T[], work: (one: T) => Promise<unknown>): Promise<void> {
  const left = [...all]
  const worker = async () => {
    for (let one = left.pop(); one !== undefined; one = left.pop()) await work(one)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

/** SIMs of a tenant. */
interface Some {
  readonly tenantId: string
  readonly simIds: readonly number[]
}

/** A tenant's Active SIMs: of one pool, or of all pools in turn. */
const simsOf = (tenantId: string, inOnePool: boolean, limit: number): Promise<Some> =>
  inTenant(store, tenantId, async (tx) => {
    const { rows } = await sql<{ id: number }>`
      select id from (select id, row_number() over (partition by pool_id order by id) as n, pool_id
                        from sims where tenant_id = ${tenantId} and status = 1) s
       where ${inOnePool} is false or pool_id = (select max(id) from pools where tenant_id = ${tenantId})
       order by n, pool_id limit ${limit}`.execute(tx.q)
    return { tenantId, simIds: rows.map(({ id }) => id) }
  })

const open = ({ tenantId, simIds }: Some, type: TicketType) =>
  inTenant(store, tenantId, (tx) => {
    const asked = { type, tag: null, message: null, effectiveAt: null, poolId: null, tariffId: null, unassign: false }
    const all = simIds.map((simId) => ({ id: randomUUID(), simId }))
    return insertTickets(tx, all, { ...asked, cause: { by: 'user' }, bulkId: null })
  })

type Execute = (some: readonly Some[], type: TicketType) => Promise<void>

/** The tickets are all open. */
const inBatches: Execute = async (some) => {
  for (const { tenantId } of some) await executeTickets(store, network, OPTIONS, tenantId)
}
/** Each tenant opens a ticket when the one before has ended. */
const singly: Execute = (some, type) =>
  each(some, async ({ tenantId, simIds }) => {
    for (const simId of simIds) {
      await open({ tenantId, simIds: [simId] }, type)
      await executeTickets(store, network, OPTIONS, tenantId)
    }
  })

/** Executes a ticket of each SIM, and checks that all are complete. @returns tickets a second */
async function measure(some: readonly Some[], type: TicketType, execute: Execute): Promise<number> {
  for (const one of some) {
    await inTenant(store, one.tenantId, (tx) =>
      sql`delete from tickets where tenant_id = ${one.tenantId}`.execute(tx.q),
    )
    if (execute === inBatches) await open(one, type)
  }
  const from = performance.now()
  await execute(some, type)
  const seconds = (performance.now() - from) / 1000
  let asked = 0
  for (const { tenantId, simIds } of some) {
    const { rows } = await inTenant(store, tenantId, (tx) =>
      sql<{ count: number }>`
        select count(*)::integer as count from tickets
         where tenant_id = ${tenantId} and status = ${TicketStatus.Complete}`.execute(tx.q),
    )
    if (rows[0]?.count !== simIds.length) throw new Error(`got ${rows[0]?.count} complete, expected ${simIds.length}`)
    asked += simIds.length
  }
  return asked / seconds
}

/** Two transactions a ticket, each updates one row. */
async function atLeast(): Promise<number> {
  const ids = Array.from({ length: tickets }, (_, n) => n)
  const from = performance.now()
  await each(ids, async (id) => {
    await bare.query('update limit_tickets set status = 1 where id = $1', [id])
    await bare.query('update limit_tickets set status = 2 where id = $1', [id])
  })
  return tickets / ((performance.now() - from) / 1000)
}

try {
  await bare.query('create table limit_tickets (id integer primary key, status integer not null)')
  await bare.query('insert into limit_tickets select n, 0 from generate_series(0, $1::integer) n', [tickets])
  const tenants = await estate.addTenants(AT_ONCE, SIMS_OF_EACH)
  const cases = [
    { name: 'one pool, in batches', some: [await simsOf(tenantId, true, tickets)], how: inBatches, target: 1 },
    {
      name: `${sims / 1000} pools, in batches`,
      some: [await simsOf(tenantId, false, tickets)],
      how: inBatches,
      target: 1,
    },
    {
      name: `${AT_ONCE} tenants, singly`,
      some: await Promise.all(tenants.map((one) => simsOf(one.tenantId, true, Math.ceil(tickets / AT_ONCE)))),
      how: singly,
      target: 0.2,
    },
  ]
  const limits: number[] = []
  const seen = new Map<string, { readonly rate: number[]; readonly target: number }>()
  console.log(`${machine()}\n${sims} SIMs; tickets a second, median of ${ROUNDS} (least–most)\n`)
  for (let round = 0; round <= ROUNDS; round++) {
    const limit = await atLeast()
    if (round > 0) limits.push(limit)
    for (const { name, some, how, target } of cases) {
      const rate = await measure(some, TicketType.Suspend, how)
      const again = await measure(some, TicketType.Activate, how)
      const one = seen.get(name) ?? { rate: [], target }
      if (round > 0) one.rate.push(rate, again)
      seen.set(name, one)
    }
  }
  const wrong = await inTenant(store, tenantId, (tx) => wrongSums(tx))
  if (wrong.length > 0) throw new Error(`sums are wrong: ${JSON.stringify(wrong)}`)
  console.log('| | tickets a second | ratio | target |\n|---|---|---|---|')
  console.log(`| two bare transactions | ${spread(limits, 0)} | | |`)
  for (const [name, { rate, target }] of seen) {
    const ratio = median(rate) / median(limits)
    if (ratio < target) process.exitCode = 1
    console.log(`| ${name} | ${spread(rate, 0)} | ${ratio.toFixed(2)} | ≥ ${target} |`)
  }
} finally {
  await bare.end()
  await close()
  await estate.close()
}
