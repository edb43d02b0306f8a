/** Figures as reads compute them: before a cycle is opened, in pools too large to divide, before sums are made up again. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { TariffType } from '../../../domain/codes.ts'
import { pageOfPools } from '../../../service/pools/rows/pools.ts'
import { pageOfSims } from '../../../service/sims/rows/sim-reads.ts'
import { currentCycle } from '../../../service/usage/rows/cycles.ts'
import { readPoolFigures, simFigures } from '../../../service/usage/rows/figures.ts'
import { sumPools } from '../../../service/usage/rows/pool-totals.ts'
import { inTenant, readOnly } from '../../../store/tenancy.ts'
import { aStore } from '../../setup/estate.ts'
import { aHarness } from '../harness.ts'

const store = await aStore()

async function anEstate() {
  const harness = await aHarness(store)
  const pools = {
    standard: await harness.aPool(),
    dynamic: await harness.aPool(TariffType['Dynamic Pool']),
    fixed: await harness.aPool(TariffType['Fixed Pool']),
  }
  const sims: Record<keyof typeof pools, number[]> = {
    standard: await harness.activeSims(2, { poolId: pools.standard }),
    dynamic: await harness.activeSims(3, { poolId: pools.dynamic }),
    fixed: await harness.activeSims(3, { poolId: pools.fixed }),
  }
  return { ...harness, pools, sims }
}

describe('figures before the cycle is opened', () => {
  test('are those that opening it gives', async () => {
    const { tenantId, pools, asTenant } = await anEstate()
    const later = { ...store, clock: () => store.now + 40 * 86_400_000 }
    const read = () =>
      inTenant(readOnly(later), tenantId, async (tx) => ({
        sims: (await pageOfSims(tx, {})).data,
        pools: (await pageOfPools(tx, {})).data,
      }))

    const before = await read()
    const opened = await asTenant(async (tx) => (await sql`select 1 from cycles`.execute(tx.q)).rows.length)
    await inTenant(later, tenantId, currentCycle)

    expect(opened).toBe(1)
    expect(before.pools.map(({ id, limitMB }) => [id, limitMB])).toEqual([
      [pools.standard, 0.002],
      [pools.dynamic, 0.003],
      [pools.fixed, 0.001],
    ])
    expect(await read()).toEqual(before)
  })
})

describe('the overage of SIMs', () => {
  /** The Dynamic pool is 400 bytes over, and two SIMs have 500 and 400 above their share: parts of 222.2 and 177.8. */
  async function over() {
    const estate = await anEstate()
    const used = [1500, 1400, 500]
    await estate.record(estate.sims.dynamic.map((id, n) => estate.usage(id, { bytesDown: used[n] })))
    const { key } = await estate.asTenant(currentCycle)
    const overage = (exactRows?: number) =>
      estate.asTenant(async (tx) => {
        const figures = await simFigures(tx, key, estate.sims.dynamic, exactRows)
        return estate.sims.dynamic.map((id) => figures.get(id)?.overageBytes)
      })
    return { ...estate, key, overage }
  }

  test('adds up to the pool’s, or is rounded down in a larger pool', async () => {
    const { overage } = await over()

    expect(await overage()).toEqual([222, 178, 0])
    expect(await overage(3)).toEqual([222, 178, 0])
    expect(await overage(2)).toEqual([222, 177, 0])
  })

  test('is right while the pool’s kept sums are of an older version', async () => {
    const { overage, asTenant, rows, key, pools } = await over()
    const before = await overage()
    await rows(sql`
      update pool_cycles set usage_version = usage_version + 1, excess_bytes = 7 where pool_id = ${pools.dynamic}`)

    expect(await overage()).toEqual(before)
    await asTenant((tx) => sumPools(tx, key, [pools.dynamic]))
    expect(await overage()).toEqual(before)
    const figures = await asTenant((tx) => readPoolFigures(tx, key, [pools.dynamic]))
    expect(figures.get(pools.dynamic)?.overageBytes).toBe(400)
  })
})
