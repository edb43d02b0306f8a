/** Reads take as many round trips for a hundred SIMs as for one, and do not read the usage records. */
import { sql } from 'kysely'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { AHEAD_MARK } from '../../../store/kept.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { recordUsage } from '../../service/record-usage.ts'
import { ownStatementsIn } from '../../setup/count-statements.ts'
import { byHand } from '../../setup/estate.ts'
import { aPool, aSim, aTariff, aTenant, type Tenant, useHarness } from '../harness.ts'

const harness = useHarness()

/** SIMs over pools of every type, with own tariffs, usage and open tickets. */
async function anEstate(sims: number) {
  const tenant = await aTenant(harness, 'Meadow')
  const tariffs = [await aTariff(tenant, 1), await aTariff(tenant, 0), await aTariff(tenant, 2)]
  const pools: number[] = []
  for (let n = 0; n < Math.ceil(sims / 2); n++) {
    pools.push(await aPool(tenant, { type: n % 3 === 0 ? 1 : 0, tariffId: tariffs[n % 3] }))
  }
  const made: number[] = []
  for (let n = 0; n < sims; n++) made.push((await aSim(tenant)).id)
  await inTenant(harness.store, tenant.id, async (tx) => {
    await byHand(tx)
    await sql`
      update sims s set status = 1, pool_id = p.pool, tariff_id = case when s.id % 2 = 0 then ${tariffs[1]}::integer end
        from (select sim, (${pools}::integer[])[1 + (n % ${pools.length})::integer] as pool
                from unnest(${made}::bigint[]) with ordinality as u(sim, n)) p
       where s.id = p.sim`.execute(tx.q)
    await sql`
      insert into memberships (sim_id, pool_id, tariff_id, from_at)
      select id, pool_id, tariff_id, ${new Date(harness.now - 3_600_000)} from sims where tenant_id = ${tenant.id}`.execute(
      tx.q,
    )
  })
  await use(tenant, made, 'first')
  await tenant.ask('POST', '/api/tickets/refresh', { simId: made[0] })
  return { tenant, sims: made, pools }
}

const iso = (instant: number) => new Date(instant).toISOString()
const use = (tenant: Tenant, sims: readonly number[], what: string) =>
  recordUsage(
    harness.store,
    tenant.id,
    sims.map((simId) => ({ recordId: `${what} ${simId}`, simId, at: iso(harness.now), bytesDown: 700_000_000 })),
  )

type Estate = Awaited<ReturnType<typeof anEstate>>

describe('a read', () => {
  const estates: Estate[] = []
  beforeAll(async () => {
    for (const size of [1, 10, 100]) estates.push(await anEstate(size))
  })

  // Each statement is a round trip: Kysely sends one at a time. In a reading transaction, begin and commit take none
  // (test/store/round-trips.test.ts).
  const reads = [
    ['a SIM', 1, ({ sims }: Estate) => `/api/sims/${sims[0]}`],
    ['SIMs', 1, () => '/api/sims?pageSize=100'],
    ['SIMs with a text', 2, () => '/api/sims?pageSize=100&search=89999'],
    ['the SIMs of a pool', 2, ({ pools }: Estate) => `/api/pools/${pools[0]}/sims`],
    ['a pool', 1, ({ pools }: Estate) => `/api/pools/${pools[0]}`],
    ['pools', 1, () => '/api/pools?pageSize=100'],
    ['tickets', 1, () => '/api/tickets'],
    ['a page of tickets', 1, () => '/internal/tickets'],
    ['log entries', 1, () => '/api/watchdog/logs'],
    ['orders', 1, () => '/api/orders'],
    ['events', 1, () => '/api/events'],
  ] as const
  test.each(reads)('of %s takes %i round trips, of 1 SIM or of 100', async (_, trips, pathOf) => {
    const taken: number[] = []
    for (const estate of estates) {
      const path = pathOf(estate)
      const ask = () => estate.tenant[path.startsWith('/api') ? 'ask' : 'inside']('GET', path)
      // The first read has overage to divide, the second has none.
      await use(estate.tenant, estate.sims, `again ${path}`)
      for (let read = 0; read < 2; read++) taken.push((await ownStatementsIn(ask)).length)
      expect((await ask()).status).toBe(200)
    }
    expect(taken).toEqual(taken.map(() => trips))
  })

  test('of 100 SIMs is shown whole', async () => {
    const [, , large] = estates
    const answer = await large?.tenant.ask('GET', '/api/sims?pageSize=100')
    expect(answer?.body.data).toHaveLength(100)
    expect(answer?.body.data.filter(({ usageMB }: { usageMB: number }) => usageMB >= 700)).toHaveLength(100)
  })
})

describe('a small write', () => {
  // Besides its commit. Statements sent ahead of another (store/kept.ts) take no round trip.
  const writes = [
    ['the tag of a SIM', 1, 'PATCH', ({ sims }: Estate) => `/api/sims/${sims[0]}/tag`, { tag: 'gate 7' }],
    [
      'the settings of a SIM',
      1,
      'PATCH',
      ({ sims }: Estate) => `/internal/sims/${sims[0]}/watchdog`,
      { watchdogMode: 1 },
    ],
    [
      'the settings of a pool',
      1,
      'PUT',
      ({ pools }: Estate) => `/api/pools/${pools[0]}`,
      { name: 'Brook', watchdogMode: 1 },
    ],
    ['a ticket', 3, 'POST', () => '/api/tickets/refresh', {}],
  ] as const
  test.each(writes)('of %s takes %i round trips', async (_, trips, method, pathOf, body) => {
    const estate = await anEstate(2)
    const { tenant, sims } = estate
    const path = pathOf(estate)
    const sent = await ownStatementsIn(async () => {
      const ask = tenant[path.startsWith('/api') ? 'ask' : 'inside']
      const { status } = await ask(method, path, method === 'POST' ? { simId: sims[1] } : body)
      expect(status).toBeLessThan(300)
    })
    expect(sent.filter(({ text }) => !text.includes(AHEAD_MARK))).toHaveLength(trips)
  })
})

test('lists do not read the usage records', async () => {
  const { tenant, sims, pools } = await anEstate(3)
  await sql`revoke select on usage_records from simherd_tenant`.execute(harness.store.db)
  onTestFinished(async () => {
    await sql`grant select on usage_records to simherd_tenant`.execute(harness.store.db)
  })

  await expect(use(tenant, sims, 'refused'), 'the right is really gone').rejects.toThrow('permission denied')
  for (const path of ['sims', `sims/${sims[0]}`, 'pools', `pools/${pools[0]}`, `pools/${pools[0]}/sims`]) {
    expect((await tenant.ask('GET', `/api/${path}`)).status, path).toBe(200)
  }
})

test('pages show each SIM once while SIMs change', async () => {
  const { tenant, sims } = await anEstate(10)
  const seen: number[] = []
  for (let page = 1, more = true; more; page++) {
    const { body } = await tenant.ask('GET', `/api/sims?pageSize=3&page=${page}`)
    seen.push(...body.data.map(({ id }: { id: number }) => id))
    more = body.pagination.hasNextPage
    await tenant.ask('PATCH', `/api/sims/${sims[9 - page]}/tag`, { tag: `seen ${page}` })
    await tenant.ask('POST', '/api/tickets/suspend', { simId: sims[page] })
    if (page < 3) await aSim(tenant)
  }

  expect(seen.slice(0, 10)).toEqual(sims)
  expect(seen).toHaveLength(12)
  expect(new Set(seen).size).toBe(12)
})
