/** Figures read while usage is counted. */
import { describe, expect, test } from 'vitest'
import { TariffType } from '../../../domain/codes.ts'
import { currentCycle } from '../../../service/usage/rows/cycles.ts'
import { readPoolFigures, simFigures } from '../../../service/usage/rows/figures.ts'
import { aStore } from '../../setup/estate.ts'
import { aHarness } from '../harness.ts'

const store = await aStore()

describe('simFigures and poolFigures', () => {
  test('return figures of one moment while usage is counted', async () => {
    const harness = await aHarness(store)
    const pools = [0, 0, 0]
    for (const n of pools.keys()) pools[n] = await harness.aPool(TariffType['Dynamic Pool'])
    const sims: number[][] = []
    for (const poolId of pools) sims.push(await harness.activeSims(2, { poolId }))
    const all = sims.flat()
    const { key } = await harness.asTenant(currentCycle)
    const usage = { comes: true }
    const writer = async (first: number) => {
      for (let n = first; n < 90; n += 3)
        await harness.record([harness.usage(all[n % all.length] ?? 0, { bytesDown: 97 })])
    }
    const torn: object[] = []
    const reader = async (poolIds: readonly number[]) => {
      while (usage.comes) {
        const lines = await harness.asTenant((tx) => simFigures(tx, key, all))
        const figures = await harness.asTenant((tx) => readPoolFigures(tx, key, poolIds))
        for (const one of figures.values()) {
          const { limitBytes, usageBytes, remainingBytes, overageBytes } = one
          if (remainingBytes !== limitBytes - usageBytes + overageBytes) torn.push(one)
        }
        for (const members of sims) {
          const mine = members.flatMap((id) => lines.get(id) ?? [])
          const sum = (of: (one: (typeof mine)[number]) => number) => mine.reduce((total, one) => total + of(one), 0)
          const overage = Math.max(0, sum((one) => one.usageBytes) - sum((one) => one.limitBytes))
          if (sum((one) => one.overageBytes) !== overage) torn.push(mine)
        }
      }
    }
    const writing = Promise.all([0, 1, 2].map(writer)).finally(() => {
      usage.comes = false
    })
    await Promise.all([writing, reader(pools.slice(0, 1)), reader(pools)])

    expect(torn).toEqual([])
  })
})
