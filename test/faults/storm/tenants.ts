/**
 * Tenants with SIMs, each of which passes its limit once, in waves: an alert each. Tenant 0 is larger than the others.
 *
 * Of five SIMs of a wave two are in each of the pools `red` and `blue`, whose rules are critical, and one is in `calm`, whose
 * rule warns: so a tenant's wave is at most two mails of causes, or a joined one, and a grouped one.
 */
import { iccidOf } from '../../../domain/identifiers.ts'
import { withConcurrency } from '../../../domain/temporal/with-concurrency.ts'
import { MB } from '../../../domain/units.ts'
import { roomyCycle } from '../../setup/cycles.ts'
import { aMeterTenant, LIMIT_MB, overLimitRule } from '../../setup/meters.ts'
import type { Service } from '../../setup/service.ts'

/** How many tenants and SIMs a storm has. */
export interface StormSize {
  readonly waves: number
  /** SIMs of tenant 0. */
  readonly large: number
  /** SIMs of each of the others, and how many others there are. */
  readonly small: number
  readonly others: number
  /** How the mail server treats the others, with how many tenants each; all further ones are `well`. */
  readonly manners: Readonly<Record<string, number>>
}

/**
 * The guard on firing lets 50 subjects of a rule an hour through, or 2 %. It has tests of its own; here all are to be told,
 * so each tenant's limit is raised above its SIMs, as an operator does who expects such a night.
 */
const GUARD_LEAST = 2000

/** Concurrent requests of the test. */
const CONCURRENCY = 10
const POOLS = ['red', 'red', 'blue', 'blue', 'calm'] as const

interface StormSim {
  readonly id: number
  readonly iccid: string
  readonly wave: number
}
export interface StormTenant {
  readonly id: string
  readonly manner: string
  readonly email: string
  readonly sims: readonly StormSim[]
}

export const STORM_RULES = Object.entries({ red: 'Critical', blue: 'Critical', calm: 'Warning' }).map(([pool, level]) =>
  overLimitRule(pool, { level, stage: 'notify' }),
)

/** Makes the tenants, each with Active SIMs. */
export async function raiseTenants(service: Service, size: StormSize): Promise<StormTenant[]> {
  const { waves, large, small, others, manners } = size
  const treated = Object.entries(manners).flatMap(([manner, n]) => Array.from({ length: n }, () => manner))
  const billingCycle = roomyCycle()
  const tenants: StormTenant[] = []
  let serial = 0
  const numbers = Array.from({ length: 1 + others }, (_, n) => n)
  await withConcurrency(numbers, CONCURRENCY, async (n) => {
    const manner = n === 0 ? 'well' : (treated[n - 1] ?? 'well')
    const email = `${manner}.${n}@meadow.example`
    const named = { name: `Brook ${n}`, billingEmail: email, billingCycle }
    const { tenantId: id, poolIds } = await aMeterTenant(service, named, [...new Set(POOLS)])
    await service.call('PATCH', '/internal/tenant/enforcement', id, { alertGuardLeast: GUARD_LEAST })
    // Active for a moment: no usage is missed of them yet.
    const activatedAt = new Date().toISOString()
    const taken = Array.from({ length: n === 0 ? large : small }, (_, k) => ({
      iccid: iccidOf(`894453${String(++serial).padStart(12, '0')}`),
      status: 1,
      poolId: poolIds[POOLS[Math.floor(k / waves) % POOLS.length] ?? 'red'],
      activatedAt,
    }))
    const { created, rejected } = await service.call('POST', '/internal/sims', id, { sims: taken })
    if (rejected.length > 0) throw new Error(`SIMs were rejected: ${JSON.stringify(rejected[0])}`)
    const sims = created.map((sim: Omit<StormSim, 'wave'>, k: number) => ({ ...sim, wave: k % waves }))
    tenants.push({ id, manner, email, sims })
  })
  return tenants
}

/** The number of alerts of a wave. */
export const alertsOf = (tenants: readonly StormTenant[], wave: number): number =>
  tenants.flatMap(({ sims }) => sims).filter((sim) => sim.wave === wave).length

/**
 * Takes a wave's SIMs over their limit, a request for each tenant. A request that fails is sent again, as a mediation
 * does: usage counts once.
 *
 * @param atOnce requests under way at a time
 * @returns how many requests were sent again
 */
export async function sendWave(
  service: Service,
  tenants: readonly StormTenant[],
  wave: number,
  atOnce = CONCURRENCY,
): Promise<number> {
  let again = 0
  await withConcurrency(tenants, atOnce, async ({ id, sims }) => {
    const at = new Date().toISOString()
    const records = sims
      .filter((sim) => sim.wave === wave)
      .map((sim) => ({ recordId: `over-${sim.id}`, simId: sim.id, at, bytesDown: (LIMIT_MB + 30) * MB }))
    for (const deadline = Date.now() + 60_000; ; again++) {
      try {
        const { rejected } = await service.call('POST', '/internal/usage', id, { records })
        if (rejected.length > 0) throw new TypeError(`usage was rejected: ${JSON.stringify(rejected[0])}`)
        return
      } catch (error) {
        if (error instanceof TypeError && error.message.startsWith('usage')) throw error
        if (Date.now() > deadline) throw error
      }
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  })
  return again
}
