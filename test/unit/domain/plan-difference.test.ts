import { expect, test } from 'vitest'
import { differenceFrom } from '../../../domain/month-end/difference.ts'
import { MOST_NAMED } from '../../../domain/month-end/plan.ts'

const TOTALS = {
  lines: 0,
  usageBytes: 0,
  voiceSeconds: 0,
  smsCount: 0,
  overageBytes: 0,
  feeMicro: 0,
  smsMicro: 0,
  voiceMicro: 0,
  overageMicro: 0,
  adjustmentsMicro: 0,
  totalMicro: 0,
}
const pool = (poolId: number, totalMicro: number, more: object = {}) => ({
  ...TOTALS,
  poolId,
  poolName: `Pool ${poolId}`,
  limitBytes: 0,
  nextLimitBytes: 0,
  totalMicro,
  ...more,
})
const plan = (pools: readonly ReturnType<typeof pool>[], more = 0, totals: object = {}) => ({
  at: '2026-10-31T12:00:00.000Z',
  totals: { ...TOTALS, ...totals },
  pools: { count: pools.length + more, first: [...pools], more },
})

test('differenceFrom is of the statement less of the plan, whatever the sign', () => {
  const planned = plan([], 0, { lines: 5, smsMicro: 70, adjustmentsMicro: -30, totalMicro: 40 })
  const stated = plan([], 0, { lines: 4, smsMicro: 20, adjustmentsMicro: 30, totalMicro: 50 })

  expect(differenceFrom(planned, stated)).toEqual({
    ...TOTALS,
    plannedAt: planned.at,
    lines: -1,
    smsMicro: -50,
    adjustmentsMicro: 60,
    totalMicro: 10,
    pools: { count: 0, first: [], more: 0 },
  })
})

test('differenceFrom names the pools that differ, the largest sums first, also those of one plan alone', () => {
  const planned = plan([pool(0, 5), pool(1, 5), pool(2, 9), pool(3, 7, { usageBytes: 1 }), pool(4, 0)])
  const stated = plan([pool(0, 5), pool(1, 7), pool(3, 7, { usageBytes: 3 }), pool(4, 0, { lines: 2 }), pool(5, 4)])
  const { pools } = differenceFrom(planned, stated)

  expect(
    pools.first.map(({ poolId, totalMicro, usageBytes, lines }) => [poolId, totalMicro, usageBytes, lines]),
  ).toEqual([
    [2, -9, 0, 0],
    [5, 4, 0, 0],
    [1, 2, 0, 0],
    [3, 0, 2, 0],
    [4, 0, 0, 2],
  ])
})

test('differenceFrom compares pools that both plans would name, and names some of them', () => {
  const ids = Array.from({ length: MOST_NAMED.differences + 2 }, (_, n) => n + 1)
  const planned = plan(
    ids.map((id) => pool(id, 0)),
    1,
  )
  const stated = plan([...ids, 9999].map((id) => pool(id, 1)))
  const { pools } = differenceFrom(planned, stated)

  expect([pools.count, pools.first.length, pools.more]).toEqual([ids.length, MOST_NAMED.differences, 2])
  expect(pools.first.map(({ poolId }) => poolId)).not.toContain(9999)
})
