/** Pages of SIMs and their totals are those of the SIMs counted one by one, whatever happens to them meanwhile. */
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { wrongCounts } from '../../../service/sims/rows/wrong-counts.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { aPool, aSim, provisioned, useHarness } from '../harness.ts'
import { ids } from '../specification/estate.ts'

const harness = useHarness()
let pools: number[]

/** SIMs over five blocks of ids: each block's first and last id among them. */
beforeAll(async () => {
  pools = [await aPool(harness.tenant), await aPool(harness.tenant)]
  await sql`
    insert into sims (id, tenant_id, iccid, type, status, status_since, pool_id, created_at, updated_at)
    overriding system value
    select id, ${harness.tenant.id}, (8944000000000000000 + id)::text, 0, id % 3, now(),
           case when id % 3 > 0 and id % 5 > 0 then (${pools}::integer[])[1 + id % 2] end, now(), now()
      from (select n * 512 + d as id from generate_series(8, 40) n, generate_series(-1, 1) d) i order by id`.execute(
    harness.root,
  )
  await sql`update pools p set total_sim_count = c.total, active_sim_count = c.active
              from (select pool_id, count(*) as total, count(*) filter (where status = 1) as active from sims group by 1) c
             where c.pool_id = p.id`.execute(harness.root)
  await sql`select setval(pg_get_serial_sequence('sims', 'id'), 100000)`.execute(harness.root)
})

const expected = async (status: number | undefined, poolId: number | undefined) => {
  const { rows } = await sql<{ id: number }>`
    select id from sims where tenant_id = ${harness.tenant.id}
       and (${status ?? null}::smallint is null or status = ${status ?? null})
       and (${poolId ?? null}::integer is null or pool_id = ${poolId ?? null}) order by id`.execute(harness.root)
  return rows.map(({ id }) => id)
}
const wrong = () => inTenant(harness.store, harness.tenant.id, wrongCounts)

describe('pages of SIMs', () => {
  const filters = [undefined, 0, 1, 2].flatMap((status) => [undefined, 0, 1, 99].map((pool) => [status, pool] as const))
  test.each(filters)('of status %s and pool %s are those counted one by one', async (status, pool) => {
    const poolId = pool === undefined ? undefined : (pools[pool] ?? 999_999)
    const all = await expected(status, poolId)
    const query = `pageSize=7${status === undefined ? '' : `&status=${status}`}${poolId === undefined ? '' : `&poolId=${poolId}`}`

    const seen: number[] = []
    for (let page = 1; page <= Math.ceil(all.length / 7) + 1; page++) {
      const { status: code, body } = await harness.tenant.ask('GET', `/api/sims?${query}&page=${page}`)
      expect([code, body.pagination.totalItems]).toEqual([200, all.length])
      seen.push(...ids(body))
    }

    expect(seen).toEqual(all)
  })

  test('have true totals after imports, tickets and changes by SQL', async () => {
    const [poolId = 0] = pools
    const total = (await expected(undefined, undefined)).length
    const { id } = await aSim(harness.tenant)
    await provisioned(harness, harness.tenant, id, { poolId })
    await sql`update sims set status = 1 where id = ${id}`.execute(harness.root)
    await sql`delete from sims where id = 8193`.execute(harness.root)

    const { body } = await harness.tenant.ask('GET', '/api/sims')
    const counts = (await harness.tenant.inside('GET', '/internal/counts')).body.simsByStatus

    expect(body.pagination.totalItems).toBe(total)
    expect(counts.Active).toBe((await expected(1, undefined)).length)
    expect(await wrong()).toEqual([])
  })

  test('have no SIM of an import that is rolled back or only tried', async () => {
    const before = await wrong()
    const sims = [{ iccid: '894459990000000001' }]
    const dry = await harness.tenant.inside('POST', '/internal/sims?dryRun=true', { sims })
    const broken = inTenant(harness.store, harness.tenant.id, async (tx) => {
      tx.tally({ simId: 1, status: 0, by: 1 })
      throw new Error('broken off')
    })

    await expect(broken).rejects.toThrow('broken off')
    expect([dry.status, before, await wrong()]).toEqual([200, [], []])
  })
})

describe('wrongCounts', () => {
  test('names what differs', async () => {
    const [poolId = 0] = pools
    const change = (by: number) =>
      sql`with b as (update sim_blocks set sims = sims + ${by} where tenant_id = ${harness.tenant.id} and block = 1 and status = 1)
          update pools set total_sim_count = total_sim_count + ${by} where id = ${poolId}`.execute(harness.root)
    await change(1)

    const found = await wrong()
    await change(-1)

    expect(found.map(({ what, kept, counted }) => [what, kept - counted])).toEqual([
      [`SIMs 4096 to 8191 of status 1`, 1],
      [`SIMs in pool ${poolId}`, 1],
    ])
    expect(await wrong()).toEqual([])
  })
})
