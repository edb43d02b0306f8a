/** The cost of a cycle so far, from the lines that its statement would have now, and a forecast of it. */
import { type CostParts, type CycleCost, MOST_POOLS } from '../../domain/month-end/cost.ts'
import { lengthMs } from '../../domain/time/cycle.ts'
import { FORECAST_FROM_SHARE, knownUntil } from '../../rules/facts-of.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { cycleNamed, tenantSettings } from '../usage/rows/cycles.ts'
import { readFeed } from '../usage/rows/feed.ts'
import { chargeOf, firstOf, readCharges } from './charges.ts'
import { type PoolCharges, takenBack } from './rows/plan.ts'
import { findCycle } from './rows/progress.ts'

/** Its writes are rolled back. @throws ServiceError `cycle_not_found` */
export const costOfCycle = (tx: TenantTx, key: string): Promise<CycleCost> =>
  takenBack(tx, async (tx) => {
    const cycle = await cycleNamed(tx, key)
    const state = await findCycle(tx, key)
    const now = tx.now.getTime()
    const knownTo = knownUntil(now, cycle, (await readFeed(tx)).newestAt)
    const known = now >= cycle.endsAt ? 1 : (knownTo - cycle.startsAt) / lengthMs(cycle)
    const isKnown = known >= FORECAST_FROM_SHARE
    const share = isKnown ? known : 1
    const { charges, totals } = await readCharges(tx, cycle, state, share)
    const forecasts = charges.map((pool) => forecastOf(pool, share))
    const sum = (name: 'voiceMicro' | 'smsMicro' | 'overageMicro') =>
      forecasts.reduce((total, { [name]: one }) => total + one, 0)
    const forecast = {
      ...totals,
      voiceMicro: sum('voiceMicro'),
      smsMicro: sum('smsMicro'),
      overageMicro: sum('overageMicro'),
    }
    const pools = charges.map((pool, n) => ({
      poolId: pool.poolId,
      poolName: pool.poolName,
      lines: pool.lines,
      usageBytes: pool.usageBytes,
      limitBytes: pool.limitBytes,
      overageBytes: pool.overageBytes,
      overageMicro: pool.overageMicro,
      totalMicro: chargeOf(pool),
      forecastMicro: isKnown ? chargeOf({ ...pool, ...forecasts[n] }) : null,
    }))
    const { lines, usageBytes, overageBytes, voiceSeconds, smsCount } = totals
    return {
      cycle: key,
      startsAt: new Date(cycle.startsAt).toISOString(),
      endsAt: new Date(cycle.endsAt).toISOString(),
      closedAt: state?.closedAt?.toISOString() ?? null,
      currency: (await tenantSettings(tx)).currency,
      asOf: tx.now.toISOString(),
      knownTo: new Date(knownTo).toISOString(),
      lines,
      usageBytes,
      overageBytes,
      voiceSeconds,
      smsCount,
      soFar: partsOf(totals),
      forecast: isKnown ? partsOf(forecast) : null,
      pools: firstOf(pools, MOST_POOLS),
    }
  })

/** Charges that follow usage, at the end of the cycle. @param share part of the cycle with known usage */
const forecastOf = ({ voiceMicro, smsMicro, forecastOverageMicro }: PoolCharges, share: number) => ({
  overageMicro: forecastOverageMicro,
  voiceMicro: Math.round(voiceMicro / share),
  smsMicro: Math.round(smsMicro / share),
})

type Charged = Omit<CostParts, 'totalMicro'>

const partsOf = ({ feeMicro, overageMicro, voiceMicro, smsMicro, adjustmentsMicro }: Charged): CostParts => ({
  feeMicro,
  overageMicro,
  voiceMicro,
  smsMicro,
  adjustmentsMicro,
  totalMicro: feeMicro + overageMicro + voiceMicro + smsMicro + adjustmentsMicro,
})
