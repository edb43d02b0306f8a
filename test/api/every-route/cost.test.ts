/** What lists cost the database: as many statements for a hundred SIMs as for one, and none on the usage records. */
import { sql } from 'kysely'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { inTenant } from '../../../store/tenancy.ts'
import { recordUsage } from '../../service/record-usage.ts'
import { statementsIn } from '../../setup/count-statements.ts'
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

describe('a list', () => {
  const estates: Awaited<ReturnType<typeof anEstate>>[] = []
  beforeAll(async () => {
    for (const size of [1, 10, 100]) estates.push(await anEstate(size))
  })

  const lists = [
    ['SIMs', () => '/api/sims?pageSize=100'],
    ['pools', () => '/api/pools?pageSize=100'],
    ['the SIMs of a pool', (pool: number) => `/api/pools/${pool}/sims`],
    ['tickets', () => '/api/tickets'],
    ['events', () => '/api/events'],
  ] as const
  test.each(lists)('of %s takes equal statements at 1, 10 and 100', async (_, path) => {
    const counts: number[][] = []
    for (const { tenant, sims, pools } of estates) {
      const url = path(pools[0] ?? 0)
      // The first read has overage to divide, the second has none.
      await use(tenant, sims, `again ${url}`)
      const { length: fresh } = await statementsIn(() => tenant.ask('GET', url))
      const { length: again } = await statementsIn(() => tenant.ask('GET', url))
      counts.push([fresh, again])
    }
    const [one] = counts
    expect(one?.[0]).toBeGreaterThan(2)
    expect(one?.[0]).toBeLessThan(20)
    expect(counts).toEqual([one, one, one])
  })

  test('of 100 SIMs is shown whole', async () => {
    const [, , large] = estates
    const answer = await large?.tenant.ask('GET', '/api/sims?pageSize=100')
    expect(answer?.body.data).toHaveLength(100)
    expect(answer?.body.data.filter(({ usageMB }: { usageMB: number }) => usageMB >= 700)).toHaveLength(100)
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
