/** Tickets of many SIMs are executed together, and end as if each were executed alone. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { CarrierError, type CarrierRequest, type Network } from '../../../adapters/carrier/network.ts'
import { TariffType, TicketStatus, TicketType } from '../../../domain/codes.ts'
import { suspendOnOverageId } from '../../../domain/temporal/ids.ts'
import type { Cause } from '../../../domain/tickets/ticket.ts'
import { executeTickets } from '../../../service/tickets/execute-tickets.ts'
import { type OpenTicketRequest, openTicket } from '../../../service/tickets/open-ticket.ts'
import { tenantsWithTickets } from '../../../service/tickets/rows/tickets.ts'
import { AHEAD_MARK } from '../../../store/kept.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { ownStatementsIn } from '../../setup/count-statements.ts'
import { aStore } from '../../setup/estate.ts'
import { heldOpen } from '../../setup/lock-waits.ts'
import { withOnlySim } from '../../setup/only-sim.ts'
import { soon, until } from '../../setup/soon.ts'
import { aHarness, type Harness } from '../harness.ts'

const NOW = Date.parse('2026-11-10T12:00:00Z')
const store = await aStore(new Date(NOW).toISOString())
const OPTIONS = { leaseMs: 30_000, retryMinMs: 1000, retryMaxMs: 60_000, attempts: 4, patienceMs: 3_600_000 }
const BOUNDARY = new Date('2026-11-01T00:00:00Z')

/** A carrier that does everything, unless `perform` says otherwise. */
function aNetwork(perform: (request: CarrierRequest) => Promise<void> = async () => undefined) {
  const asked: CarrierRequest[] = []
  const network: Network = {
    credential: 'test',
    perform: async (request) => {
      asked.push(request)
      await perform(request)
      return { ticketId: request.ticketId, effect: 'done' }
    },
    ping: async () => undefined,
  }
  return { network, asked }
}
const execute = (harness: Harness, network = aNetwork().network) =>
  executeTickets(store, network, OPTIONS, harness.tenantId)
const open = (harness: Harness, ask: Omit<OpenTicketRequest, 'cause'> & { readonly cause?: Cause }) =>
  harness.asTenant((tx) => openTicket(tx, { cause: { by: 'user' }, ...ask }))
const statuses = async (harness: Harness) => {
  const tickets = await harness.rows(sql<{ status: TicketStatus; attempts: number }>`
    select status, attempts from tickets order by seq`)
  return tickets.map(({ status, attempts }) => [status, attempts])
}
/** Tickets that have not completed. */
const unfinished = async (harness: Harness) =>
  (await statuses(harness)).filter(([status]) => status !== TicketStatus.Complete)
const isDue = async (harness: Harness) =>
  (await inPlatform(store, (tx) => tenantsWithTickets(tx, 100))).includes(harness.tenantId)

/** A tenant with so many SIMs in a pool, each with a ticket to activate it. */
async function toActivate(count: number) {
  store.now = NOW
  const harness = await aHarness(store)
  const poolId = await harness.aPool(TariffType['Dynamic Pool'], 1000)
  const sims = await harness.unprovisioned(count)
  for (const simId of sims) {
    await harness.complete({ simId, type: TicketType.Provision, poolId })
    await open(harness, { simId, type: TicketType.Activate })
  }
  return { ...harness, poolId, sims }
}

describe('a batch', () => {
  test('takes 50 SIMs at once, and goes on until none is due', async () => {
    const estate = await toActivate(120)
    let atOnce = 0
    let most = 0
    const { network, asked } = aNetwork(async () => {
      most = Math.max(most, ++atOnce)
      await new Promise(setImmediate)
      atOnce--
    })

    await execute(estate, network)

    expect(most).toBe(50)
    expect(asked).toHaveLength(120)
    expect(await unfinished(estate)).toEqual([])
    const counts = sql`
      select p.active_sim_count as active, c.contributing from pools p join pool_cycles c on c.pool_id = p.id`
    expect(await estate.rows(counts)).toEqual([{ active: 120, contributing: 120 }])
    expect(await isDue(estate)).toBe(false)
  })

  test('ends what is answered while others are outstanding, and takes up new tickets', async () => {
    const estate = await toActivate(3)
    const late = Promise.withResolvers<void>()
    const [slow = 0, quick = 0] = estate.sims
    const [sim] = await estate.rows(sql<{ iccid: string }>`select iccid from sims where id = ${slow}`)
    const { network } = aNetwork(({ iccid }) => (iccid === sim?.iccid ? late.promise : Promise.resolve()))

    const executing = execute(estate, network)
    const ended = async (count: number) =>
      (await statuses(estate)).filter(([status]) => status === TicketStatus.Complete).length === count + 3
    await until('the others have ended', () => ended(2))
    await open(estate, { simId: quick, type: TicketType.Suspend })
    await until('the new one has ended', () => ended(3))
    late.resolve()
    await executing

    expect(await ended(4)).toBe(true)
  })

  test('is claimed while the one before is committed', async () => {
    const estate = await toActivate(60)
    const release = await heldOpen(estate.asTenant, (tx) =>
      sql`select from pools where id = ${estate.poolId} for no key update`.execute(tx.q),
    )

    const done = execute(estate)
    try {
      // The first 50 wait for their pool.
      await soon(async () => {
        const begun = (await statuses(estate)).filter(([status]) => status === TicketStatus.Processing)
        expect(begun).toHaveLength(60)
      })
    } finally {
      await release()
    }
    await done

    expect(await unfinished(estate)).toEqual([])
  })

  test('of one ticket takes few round trips, with one more look for tickets', async () => {
    const estate = await toActivate(1)
    await execute(estate)
    await open(estate, { simId: estate.sims[0] ?? 0, type: TicketType.Refresh })
    const sent = await ownStatementsIn(() => execute(estate))

    expect(await unfinished(estate)).toEqual([])
    expect(sent.filter(({ text }) => !text.includes(AHEAD_MARK))).toHaveLength(10)
    expect(sent.filter(({ text }) => text.includes('skip locked'))).toHaveLength(2)
  })

  test('is executed once by several workers at once', async () => {
    const estate = await toActivate(70)
    const { network, asked } = aNetwork()

    await Promise.all([execute(estate, network), execute(estate, network), execute(estate, network)])

    expect(new Set(asked.map(({ ticketId }) => ticketId)).size).toBe(70)
    expect(asked).toHaveLength(70)
    expect(await unfinished(estate)).toEqual([])
  })

  test('postpones what the carrier cannot do now, and fails what it refuses', async () => {
    const estate = await toActivate(3)
    let n = 0
    const { network } = aNetwork(async () => {
      n++
      if (n === 1) throw new CarrierError('busy', { code: 'carrier_unavailable', retryable: true })
      if (n === 2) throw new CarrierError('no', { code: 'carrier_refused', retryable: false })
    })

    await execute(estate, network)

    const after = await estate.rows(sql`select status from tickets where type = ${TicketType.Activate} order by sim_id`)
    const { Processing, Failed, Complete } = TicketStatus
    expect(after).toEqual([{ status: Processing }, { status: Failed }, { status: Complete }])
    expect(await isDue(estate)).toBe(false)
    store.now += 1000
    expect(await isDue(estate)).toBe(true)
  })

  test('does not look at a SIM again before its ticket is due', async () => {
    const estate = await toActivate(1)
    const [simId = 0] = estate.sims
    const busy = aNetwork(async () => {
      throw new CarrierError('busy', { code: 'carrier_unavailable', retryable: true })
    })
    await execute(estate, busy.network)
    await open(estate, { simId, type: TicketType.Suspend })
    expect(await isDue(estate)).toBe(true)

    await execute(estate)

    expect(await isDue(estate)).toBe(false)
    store.now += 1000
    await execute(estate)
    expect((await statuses(estate)).slice(-2)).toEqual([
      [TicketStatus.Complete, 2],
      [TicketStatus.Complete, 1],
    ])
  })
})

describe('a ticket that cannot be committed', () => {
  /** Executes while a table takes no row of a SIM. */
  const breaking = async (simId: number, what: string, work: () => Promise<void>) => {
    const alter = (how: string) => sql`alter table ${sql.table(what)} ${sql.raw(how)}`.execute(store.db)
    await alter(`add constraint broken check (sim_id <> ${simId}) not valid`)
    await expect(work()).rejects.toThrow(/broken/)
    await alter('drop constraint broken')
  }

  test('does not hold up the others of its batch', async () => {
    const estate = await toActivate(4)
    const [broken = 0, ...others] = estate.sims
    const carrier = aNetwork()

    await breaking(broken, 'active_spans', () => execute(estate, carrier.network))

    const done = await estate.rows(sql`select sim_id as id from active_spans where to_at is null order by sim_id`)
    expect(done).toEqual(others.map((id) => ({ id })))
    expect(await isDue(estate)).toBe(false)
    store.now += OPTIONS.leaseMs
    await execute(estate, carrier.network)
    expect((await statuses(estate)).slice(-4).map(([status]) => status)).toEqual(Array(4).fill(TicketStatus.Complete))
  })

  test('does not hold up the others where it cannot be claimed', async () => {
    const estate = await toActivate(3)
    await execute(estate)
    const watchdog: Cause = { by: 'watchdog', rule: 'r', cycle: '2026-11', until: 'renewal', workflowId: 'w' }
    const [broken = 0, other = 0] = estate.sims
    for (const simId of [broken, other]) await estate.complete({ simId, type: TicketType.Suspend, cause: watchdog })
    // Recorded without the carrier, when they are claimed.
    for (const simId of [broken, other]) await open(estate, { simId, type: TicketType.Suspend })

    await breaking(broken, 'suspensions', () => execute(estate))

    expect((await statuses(estate)).slice(-2).map(([status]) => status)).toEqual([
      TicketStatus.Pending,
      TicketStatus.Complete,
    ])
    expect(await isDue(estate)).toBe(false)
    store.now += OPTIONS.leaseMs
    await execute(estate)
    expect((await statuses(estate)).at(-2)).toEqual([TicketStatus.Complete, 0])
  })
})

/** Every kind of ticket, on SIMs in different states, of persons, the watchdog and the month end. */
async function everyKind() {
  store.now = BOUNDARY.getTime() - 86_400_000
  const harness = await aHarness(store)
  const first = await harness.aPool()
  const second = await harness.aPool(TariffType['Fixed Pool'], 5000)
  const [fresh = 0, ready = 0] = await harness.unprovisioned(2)
  await harness.complete({ simId: ready, type: TicketType.Provision, poolId: first })
  const sims = await harness.activeSims(12, { poolId: first })
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0, i = 0, k = 0, l = 0, m = 0] = sims
  const watchdog = (simId: number, cycle: string): Cause => ({
    by: 'watchdog',
    rule: 'r',
    cycle,
    until: 'renewal',
    workflowId: suspendOnOverageId(harness.tenantId, simId, cycle),
  })
  for (const simId of [d, h])
    await harness.complete({ simId, type: TicketType.Suspend, cause: watchdog(simId, '2026-10') })
  store.now = NOW
  const at = (day: number) => `2026-11-0${day}T08:00:00Z`
  const all = [fresh, ready, ...sims]
  await harness.record(
    [...sims, ready].map((simId, n) => harness.usage(simId, { at: at((n % 8) + 1), bytesUp: 300 * n })),
  )
  for (const simId of [d, k, l])
    await harness.rows(sql`
      insert into workflow_starts (workflow_id, started_at)
      values (${suspendOnOverageId(harness.tenantId, simId, simId === d ? '2026-10' : '2026-11')}, now()) returning 1`)
  const monthEnd: Cause = { by: 'month-end', cycle: '2026-10' }
  const asks: (Omit<OpenTicketRequest, 'cause'> & { readonly cause?: Cause })[] = [
    { simId: fresh, type: TicketType.Provision, poolId: second },
    { simId: ready, type: TicketType.Activate },
    { simId: a, type: TicketType.Suspend },
    { simId: b, type: TicketType.Suspend, cause: watchdog(b, '2026-11') },
    { simId: c, type: TicketType.Provision, unassign: true },
    { simId: d, type: TicketType.Provision, unassign: true },
    { simId: e, type: TicketType.Provision, unassign: true, cause: monthEnd, effectiveAt: BOUNDARY },
    { simId: f, type: TicketType.Provision, poolId: second, cause: monthEnd, effectiveAt: BOUNDARY },
    { simId: g, type: TicketType.Provision, poolId: second, cause: monthEnd },
    { simId: h, type: TicketType.Provision, poolId: second, cause: monthEnd },
    { simId: i, type: TicketType.Refresh },
    { simId: k, type: TicketType['Send SMS'], message: 'hello' },
    { simId: l, type: TicketType.Suspend },
    { simId: m, type: TicketType.Provision, poolId: second, cause: monthEnd, effectiveAt: BOUNDARY },
  ]
  for (const ask of asks) await open(harness, ask)
  const names = new Map(all.map((id, n) => [id, `SIM ${n}`] as const))
  const pools = new Map([
    [first, 'first'],
    [second, 'second'],
    [0, 'none'],
  ])
  return { ...harness, all, names, pools }
}

/** All that tickets write, with names in the place of ids. */
async function written(harness: Awaited<ReturnType<typeof everyKind>>) {
  const { tenantId, names, pools } = harness
  const tables = {
    sims: sql`select id as sim, status, pool_id as pool, tariff_id is null as no_tariff, provisioned_at is null as no_date from sims order by id`,
    active: sql`select sim_id as sim, from_at, to_at from active_spans order by sim_id, id`,
    members: sql`select sim_id as sim, pool_id as pool, from_at, to_at from memberships order by sim_id, id`,
    suspensions: sql`select sim_id as sim, cause, rule, cycle_key, closed_because from suspensions order by sim_id, id`,
    ledger: sql`select cycle_key, sim_id as sim, pool_id as pool, contributing, bytes from usage_ledger order by cycle_key, sim_id, pool_id`,
    totals: sql`select cycle_key, pool_id as pool, contributing, bytes from pool_cycles order by cycle_key, pool_id`,
    buckets: sql`select subject_id as pool, sum(bytes)::bigint as bytes from usage_buckets where subject_kind = 2 group by 1 having sum(bytes) > 0 order by 1`,
    records: sql`select sim_id as sim, pool_id as pool, sum(bytes_up)::bigint as bytes from usage_records group by 1, 2 order by 1, 2`,
    due: sql`select subject_kind, case when subject_kind = 1 then subject_id end as sim, case when subject_kind = 2 then subject_id end as pool from due_subjects where due_at <= ${new Date(store.now)} order by 1, subject_id`,
    events: sql`select type, severity, regexp_replace(title, ': SIM .*', '') as title from events order by 3`,
    signals: sql`select workflow_id, request ->> 'signal' as signal from workflow_outbox order by workflow_id, id`,
    held: sql`select workflow_id, held from workflow_starts order by 1`,
    tickets: sql`select sim_id as sim, status, attempts, failure_code from tickets order by seq`,
    counts: sql`select id as pool, active_sim_count, total_sim_count from pools order by id`,
  }
  const shown: Record<string, unknown> = {}
  for (const [table, query] of Object.entries(tables)) {
    const rows = await harness.rows(query as ReturnType<typeof sql<Record<string, unknown>>>)
    shown[table] = rows.map((row) => ({
      ...row,
      ...('sim' in row ? { sim: names.get(Number(row.sim)) ?? null } : {}),
      ...('pool' in row ? { pool: pools.get(Number(row.pool)) ?? null } : {}),
      ...('workflow_id' in row
        ? {
            workflow_id: String(row.workflow_id)
              .replace(tenantId, 'tenant')
              .replace(/:(\d+):/, (_, id: string) => `:${names.get(Number(id))}:`),
          }
        : {}),
    }))
  }
  return shown
}

test('a batch of every kind of ticket writes what the tickets write one by one', async () => {
  const together = await everyKind()
  const alone = await everyKind()

  await execute(together)
  for (const simId of alone.all) await withOnlySim(store, alone.tenantId, simId, () => execute(alone))

  const expected = await written(alone)
  expect(expected.signals).not.toEqual([])
  expect(await written(together)).toEqual(expected)
})
