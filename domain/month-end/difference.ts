/** How a cycle's statement differs from the plan made before its close. Pure. */
import { type Difference, MOST_NAMED, type MonthEndPlan, type PoolDifference } from './plan.ts'

type Compared = Pick<MonthEndPlan, 'at' | 'totals' | 'pools'>

/** @param planned before the close @param stated after it, with the figures of the statement */
export function differenceFrom(planned: Compared, stated: Compared): Difference {
  const [before, after] = [planned.totals, stated.totals]
  const pools = poolDifferences(planned.pools, stated.pools)
  const first = pools.slice(0, MOST_NAMED.differences)
  return {
    plannedAt: planned.at,
    lines: after.lines - before.lines,
    usageBytes: after.usageBytes - before.usageBytes,
    voiceSeconds: after.voiceSeconds - before.voiceSeconds,
    smsCount: after.smsCount - before.smsCount,
    overageBytes: after.overageBytes - before.overageBytes,
    feeMicro: after.feeMicro - before.feeMicro,
    smsMicro: after.smsMicro - before.smsMicro,
    voiceMicro: after.voiceMicro - before.voiceMicro,
    overageMicro: after.overageMicro - before.overageMicro,
    adjustmentsMicro: after.adjustmentsMicro - before.adjustmentsMicro,
    totalMicro: after.totalMicro - before.totalMicro,
    pools: { count: pools.length, first, more: pools.length - first.length },
  }
}

type Pools = MonthEndPlan['pools']
const NOTHING = { lines: 0, usageBytes: 0, totalMicro: 0 }
const byId = ({ first }: Pools) => new Map(first.map((pool) => [pool.poolId, pool]))
/** The id up to which a plan names all pools. */
const lastNamed = ({ first, more }: Pools) => (more === 0 ? Number.MAX_SAFE_INTEGER : (first.at(-1)?.poolId ?? 0))

/** Pools that differ, the largest sums first. */
function poolDifferences(planned: Pools, stated: Pools): PoolDifference[] {
  const last = Math.min(lastNamed(planned), lastNamed(stated))
  const [before, after] = [byId(planned), byId(stated)]
  return [...new Map([...before, ...after]).values()]
    .filter(({ poolId }) => poolId <= last)
    .map(({ poolId, poolName }) => {
      const [was, is] = [before.get(poolId) ?? NOTHING, after.get(poolId) ?? NOTHING]
      return {
        poolId,
        poolName,
        lines: is.lines - was.lines,
        usageBytes: is.usageBytes - was.usageBytes,
        totalMicro: is.totalMicro - was.totalMicro,
      }
    })
    .filter(({ lines, usageBytes, totalMicro }) => lines !== 0 || usageBytes !== 0 || totalMicro !== 0)
    .toSorted(
      (a, b) =>
        Math.abs(b.totalMicro) - Math.abs(a.totalMicro) ||
        Math.abs(b.usageBytes) - Math.abs(a.usageBytes) ||
        a.poolId - b.poolId,
    )
}
