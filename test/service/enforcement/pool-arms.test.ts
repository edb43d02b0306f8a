/** SIMs that the enforcement of a pool has armed in a cycle. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { armedSims, armSims } from '../../../service/enforcement/arm-sims.ts'
import { closeCycle } from '../../../service/month-end/close-cycle.ts'
import { aStore } from '../../setup/estate.ts'
import { aPoolOf, RULE, THIS_CYCLE } from './enforced-pool.ts'

const store = await aStore()
async function aPool(count: number) {
  const harness = await aPoolOf(store, count)
  const { poolId } = harness
  const ask = { cycle: THIS_CYCLE, rule: RULE, ruleFile: 'f', grace: 'PT0S', until: 'renewal' } as const
  return {
    ...harness,
    arm: (simIds: number[], signal: 'overLimit' | 'cleared' = 'overLimit', pool: number | null = poolId) =>
      harness.asTenant((tx) => armSims(tx, { ...ask, simIds, signal, poolId: pool })),
    armed: (also: object = {}) => harness.asTenant((tx) => armedSims(tx, poolId, { cycle: THIS_CYCLE, ...also })),
    count: async () => (await harness.pool()).armed,
  }
}

describe('armSims', () => {
  test('keeps whom a pool has armed, each once', async () => {
    const { sims, arm, armed, count } = await aPool(3)
    const [a = 0, b = 0, c = 0] = sims

    expect(await arm([b, a, b])).toMatchObject({ told: 2, started: 2, armed: 2 })
    expect(await arm([a, c])).toMatchObject({ told: 2, started: 1, armed: 1 })

    expect(await armed()).toEqual({ simIds: [a, b, c], nextAfterSimId: null })
    expect(await count()).toBe(3)
  })

  test('keeps nobody who is told otherwise, or not for a pool', async () => {
    const { sims, arm, armed } = await aPool(1)

    expect(await arm(sims, 'cleared')).toMatchObject({ armed: 0 })
    expect(await arm(sims, 'overLimit', null)).toMatchObject({ started: 1, armed: 0 })

    expect(await armed()).toEqual({ simIds: [], nextAfterSimId: null })
  })

  test('keeps nobody where the request fails', async () => {
    const { sims, arm, armed } = await aPool(1)

    await expect(arm([...sims, 999_999])).rejects.toMatchObject({ code: 'sim_not_found' })
    await expect(arm(sims, 'overLimit', 999_999)).rejects.toMatchObject({ code: 'pool_not_found' })

    expect(await armed()).toMatchObject({ simIds: [] })
  })
})

describe('armedSims', () => {
  test('pages by id', async () => {
    const { sims, arm, armed } = await aPool(3)
    await arm(sims)
    const [a = 0, b = 0, c = 0] = sims

    expect(await armed({ limit: 2 })).toEqual({ simIds: [a, b], nextAfterSimId: b })
    expect(await armed({ limit: 2, afterSimId: b })).toEqual({ simIds: [c], nextAfterSimId: null })
  })

  test('has none once the cycle is closed', async () => {
    const { sims, arm, armed, asTenant, rows } = await aPool(2)
    await arm(sims)
    store.now = Date.parse('2026-12-01T12:00:00Z')
    expect(await armed()).toMatchObject({ simIds: sims })

    await asTenant((tx) => closeCycle(tx, THIS_CYCLE))

    expect(await rows(sql`select from pool_arms`)).toEqual([])
    expect(await armed()).toMatchObject({ simIds: [] })
  })
})
