import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { TariffType } from '../../domain/codes.ts'
import { currentCycle } from '../../service/usage/rows/cycles.ts'
import { lockPools, sumPools } from '../../service/usage/rows/pool-totals.ts'
import { inTenant, type TenantTx } from '../../store/tenancy.ts'
import { aPool, aStore, aTariff, aTenant, byHand, someSims } from '../setup/estate.ts'
import { lockWaiters } from '../setup/lock-waits.ts'
import { soon } from '../setup/soon.ts'

const store = await aStore()

/** Changes a pool without its sums, as a changed number of contributing SIMs does. */
const change = (tx: TenantTx, poolId: number) =>
  sql`update pool_cycles set usage_version = usage_version + 1 where pool_id = ${poolId}`.execute(tx.q)

describe('sumPools', () => {
  test('locks no pool that became stale while waiting', async () => {
    const tenantId = await aTenant(store)
    const asTenant = <T>(work: (tx: TenantTx) => Promise<T>) => inTenant(store, tenantId, work)
    const { key, first, second } = await asTenant(async (tx) => {
      const tariff = await aTariff(tx, TariffType['Dynamic Pool'], 1000)
      const [first, second] = [await aPool(tx, tariff.id, { type: 1 }), await aPool(tx, tariff.id, { type: 1 })]
      const { key } = await currentCycle(tx)
      await lockPools(tx, key, [first.id, second.id])
      await sumPools(tx, key, [first.id, second.id])
      await change(tx, second.id)
      return { key, first: first.id, second: second.id }
    })
    const [locked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]

    const holder = asTenant(async (tx) => {
      await lockPools(tx, key, [second])
      locked.resolve()
      await held.promise
    })
    await locked.promise
    const sums = asTenant((tx) => sumPools(tx, key, [first, second]))
    await soon(async () => expect(await lockWaiters(store)).toBe(1))
    await asTenant(async (tx) => {
      await lockPools(tx, key, [first])
      await change(tx, first)
    })
    const usage = asTenant(async (tx) => {
      await lockPools(tx, key, [first, second])
      await change(tx, first)
    })
    await soon(async () => expect(await lockWaiters(store)).toBe(2))
    held.resolve()

    const ends = await Promise.allSettled([holder, sums, usage])
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled'])
  })
})

describe('a SIM that moves', () => {
  test('locks its pools in the order of their ids', async () => {
    const tenantId = await aTenant(store)
    const asTenant = <T>(work: (tx: TenantTx) => Promise<T>) => inTenant(store, tenantId, work)
    const { from, to, first, second } = await asTenant(async (tx) => {
      const tariff = await aTariff(tx, TariffType.Standard, 1000)
      const [from, to] = [(await aPool(tx, tariff.id)).id, (await aPool(tx, tariff.id)).id]
      const [first, second] = (await someSims(tx, 2)).map(({ id }) => id)
      // The first pool's row is written last, so it lies behind the second's: a scan of the small table finds it later.
      await byHand(tx)
      await sql`update sims set pool_id = ${from}, status = 2 where id in (${first}, ${second})`.execute(tx.q)
      return { from, to, first, second }
    })
    await sql`analyze pools`.execute(store.db)
    const move = (tx: TenantTx, id: number | undefined) =>
      sql`update sims set pool_id = ${to} where id = ${id}`.execute(tx.q)
    const [counted, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]

    const inOrder = asTenant(async (tx) => {
      await byHand(tx)
      await sql`update sims set status = 1 where id = ${first}`.execute(tx.q)
      counted.resolve()
      await goesOn.promise
      await move(tx, first)
    })
    await counted.promise
    const other = asTenant((tx) => move(tx, second))
    await soon(async () => expect(await lockWaiters(store)).toBe(1))
    goesOn.resolve()

    const ends = await Promise.allSettled([inOrder, other])
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
    const { rows } = await asTenant((tx) =>
      sql`select id, active_sim_count as active, total_sim_count as total from pools where id in (${from}, ${to}) order by id`.execute(
        tx.q,
      ),
    )
    expect(rows).toEqual([
      { id: from, active: 0, total: 0 },
      { id: to, active: 1, total: 2 },
    ])
  })
})
