import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { TariffType } from '../../domain/codes.ts'
import { currentCycle } from '../../service/usage/rows/cycles.ts'
import { lockPools, sumPools } from '../../service/usage/rows/pool-totals.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { aPool, aStore, aTariff, aTenantOf } from '../setup/estate.ts'
import { heldOpen, lockWaiters } from '../setup/lock-waits.ts'
import { soon } from '../setup/soon.ts'

const store = await aStore()

/** Changes a pool without its sums, as a changed number of contributing SIMs does. */
const change = (tx: TenantTx, poolId: number) =>
  sql`update pool_cycles set usage_version = usage_version + 1 where pool_id = ${poolId}`.execute(tx.q)

describe('sumPools', () => {
  test('locks no pool that became stale while waiting', async () => {
    const { asTenant } = await aTenantOf(store)
    const { key, first, second } = await asTenant(async (tx) => {
      const tariff = await aTariff(tx, TariffType['Dynamic Pool'], 1000)
      const [first, second] = [await aPool(tx, tariff.id, { type: 1 }), await aPool(tx, tariff.id, { type: 1 })]
      const { key } = await currentCycle(tx)
      await lockPools(tx, key, [first.id, second.id])
      await sumPools(tx, key, [first.id, second.id])
      await change(tx, second.id)
      return { key, first: first.id, second: second.id }
    })
    const release = await heldOpen(asTenant, (tx) => lockPools(tx, key, [second]))
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

    const ends = await Promise.allSettled([release(), sums, usage])
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled'])
  })
})
