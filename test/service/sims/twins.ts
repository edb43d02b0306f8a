/**
 * Two tenants with the same pools, tariffs and SIMs. One got them by tickets, at the time at which they happened; the other
 * takes them over. What is seen of both from then on is read under the same names.
 */
import { sql } from 'kysely'
import { PoolType, SimStatus, TariffType, TicketType } from '../../../domain/codes.ts'
import { ServiceError } from '../../../domain/errors.ts'
import type { Cause } from '../../../domain/tickets/ticket.ts'
import { type Cycle, cycleAt, previousCycle } from '../../../domain/time/cycle.ts'
import { closeCycle } from '../../../service/month-end/close-cycle.ts'
import { planMonthEnd } from '../../../service/month-end/plan-month-end.ts'
import { renewCycle } from '../../../service/month-end/steps.ts'
import { importSims } from '../../../service/sims/import-sims.ts'
import { currentCycle } from '../../../service/usage/rows/cycles.ts'
import { prepareSoFar } from '../../../service/usage/used-so-far.ts'
import { aPool, aTariff, type TestStore } from '../../setup/estate.ts'
import { aHarness, type Harness } from '../harness.ts'

const BILLING_CYCLE = 'P10D'
export const HOUR = 3_600_000
/** Small and odd, so that pools are soon over and shares do not divide evenly. */
const ALLOWANCES = [1000, 701, 2503]
const FEES = { simMonthlyFee: 1.5, smsFee: 0.07, voiceFee: 0.11, overageFeePerGb: 500_000 }

/** A SIM as it lives at the carrier at the takeover. Hours are before it. */
export interface Life {
  readonly status: 'unprovisioned' | 'provisioned' | 'active' | 'suspended'
  /** A pool by its number; null: outside pools. */
  readonly pool: number | null
  readonly own: boolean
  readonly activeForHours: number
  readonly bytes: number
  readonly voiceSeconds: number
  readonly smsCount: number
}

export type Step =
  | { readonly do: 'activate' | 'suspend' | 'limit' | 'unassign'; readonly sim: number }
  | { readonly do: 'provision'; readonly sim: number; readonly pool: number | null; readonly own: boolean }
  | { readonly do: 'use'; readonly sim: number; readonly bytes: number; readonly hoursAgo: number }
  | { readonly do: 'wait'; readonly hours: number }
  /** The cycle ends. A SIM moves with it, or (pool null) is unassigned. */
  | { readonly do: 'turn'; readonly sim: number; readonly pool: number | null }

interface Side {
  readonly harness: Harness
  readonly pools: readonly number[]
  readonly tariffId: number
  readonly sims: number[]
}

let serial = 0

async function aSide(store: TestStore): Promise<Side> {
  const harness = await aHarness(store, BILLING_CYCLE)
  return harness.asTenant(async (tx) => {
    const [standard = 0, dynamic = 0, fixed = 0] = ALLOWANCES
    const made = [
      await aTariff(tx, TariffType.Standard, standard, FEES),
      await aTariff(tx, TariffType['Dynamic Pool'], dynamic, FEES),
      await aTariff(tx, TariffType['Fixed Pool'], fixed, FEES),
    ]
    const own = await aTariff(tx, TariffType.Standard, 350, { ...FEES, simMonthlyFee: 3 })
    const pools = []
    for (const [n, { id }] of made.entries()) {
      pools.push((await aPool(tx, id, { name: `pool ${n}`, type: n === 1 ? PoolType.Dynamic : PoolType.Standard })).id)
    }
    return { harness, pools, tariffId: own.id, sims: [] }
  })
}

/** Where a SIM is: an own tariff has an effect in the Standard pool and outside pools only. */
const placeOn = ({ pools, tariffId }: Side, { pool, own }: Pick<Life, 'pool' | 'own'>) => ({
  ...(pool === null ? {} : { poolId: pools[pool] ?? 0 }),
  ...(own && (pool === null || pool === 0) ? { tariffId } : {}),
})

const hasUsage = (life: Life) => life.bytes + life.voiceSeconds + life.smsCount > 0
const wasActive = ({ status }: Life) => status === 'active' || status === 'suspended'
const CODES = {
  unprovisioned: SimStatus.Unprovisioned,
  provisioned: SimStatus.Suspended,
  active: SimStatus.Active,
  suspended: SimStatus.Suspended,
}

export interface Twins {
  readonly store: TestStore
  /** `[by tickets, taken over]` */
  readonly sides: readonly [Side, Side]
  /** The cycle of the takeover. */
  readonly cycle: Cycle
}

/** Both tenants at the takeover, at this instant. The one by tickets has come there hour by hour. */
export async function theTwins(store: TestStore, at: number, lives: readonly Life[]): Promise<Twins> {
  store.now = at - 60 * 24 * HOUR
  const sides = [await aSide(store), await aSide(store)] as const
  const [byTickets, takenOver] = sides
  const cycle = cycleAt(BILLING_CYCLE, at)
  await liveThrough(store, byTickets, lives, cycle, at)
  store.now = at
  await prepareSoFar(store, takenOver.harness.tenantId)
  const { rejected, created } = await takenOver.harness.asTenant((tx) =>
    importSims(
      tx,
      lives.map((life, n) => recordOf(takenOver, life, n, at)),
    ),
  )
  if (rejected.length > 0) throw new Error(`rejected: ${JSON.stringify(rejected)}`)
  takenOver.sims.push(...created.map(({ id }) => id))
  // The month end of the cycle before may come only now, and corrects who contributes to the running one.
  const before = previousCycle(BILLING_CYCLE, cycle)
  for (const { harness } of sides) await harness.asTenant((tx) => renewCycle(tx, before.key))
  return { store, sides, cycle }
}

function recordOf(side: Side, life: Life, n: number, at: number) {
  const { status, bytes, voiceSeconds, smsCount } = life
  const sim = { iccid: anIccid(), tag: `sim ${n}`, status: CODES[status] }
  if (status === 'unprovisioned') return sim
  const placed = { ...sim, ...placeOn(side, life) }
  if (!wasActive(life)) return placed
  const activatedAt = new Date(at - life.activeForHours * HOUR).toISOString()
  return { ...placed, activatedAt, usageBytes: bytes, voiceSeconds, smsCount }
}

const anIccid = () => `8944502${String(++serial).padStart(12, '0')}`

/** Does with the SIMs what has led to these lives, in the order in which it happened. */
async function liveThrough(store: TestStore, side: Side, lives: readonly Life[], cycle: Cycle, at: number) {
  const { harness, sims } = side
  const { created } = await harness.asTenant((tx) =>
    importSims(
      tx,
      lives.map((_, n) => ({ iccid: anIccid(), tag: `sim ${n}` })),
    ),
  )
  sims.push(...created.map(({ id }) => id))
  const events: { at: number; do: () => Promise<unknown> }[] = [
    { at: cycle.startsAt, do: () => harness.asTenant(currentCycle) },
  ]
  for (const [n, life] of lives.entries()) {
    const simId = sims[n] ?? 0
    const begins = wasActive(life) ? at - life.activeForHours * HOUR : at
    const add = (when: number, type: TicketType, more: object = {}) =>
      events.push({ at: when, do: () => harness.complete({ simId, type, ...more }) })
    if (life.status === 'unprovisioned') continue
    add(begins, TicketType.Provision, placeOn(side, life))
    if (!wasActive(life)) continue
    add(begins, TicketType.Activate)
    const used = Math.max(begins, cycle.startsAt)
    const { bytes: bytesUp, voiceSeconds, smsCount } = life
    if (hasUsage(life)) {
      events.push({ at: used, do: () => harness.record([harness.usage(simId, { bytesUp, voiceSeconds, smsCount })]) })
    }
    const isOver = !hasUsage(life) && begins < cycle.startsAt
    if (life.status === 'suspended') add(isOver ? Math.max(begins, cycle.startsAt - HOUR) : at, TicketType.Suspend)
  }
  for (const event of events.toSorted((a, b) => a.at - b.at)) {
    store.now = event.at
    await event.do()
  }
}

/** Takes a step on both sides. @returns for each what it was refused with; undefined if it was done */
export async function takeBoth(twins: Twins, step: Step): Promise<[string | undefined, string | undefined]> {
  const { store, sides } = twins
  if (step.do === 'wait') store.now += step.hours * HOUR
  const ended = cycleAt(BILLING_CYCLE, store.now)
  if (step.do === 'turn') store.now = ended.endsAt
  const [one, other] = sides
  const outcome = [await attempt(twins, one, step, ended), await attempt(twins, other, step, ended)] as const
  if (step.do === 'turn') store.now += 6 * HOUR
  if (step.do === 'turn') {
    for (const { harness } of sides) await harness.asTenant((tx) => closeCycle(tx, ended.key))
  }
  return [...outcome]
}

async function attempt({ store, cycle }: Twins, side: Side, step: Step, ended: Cycle): Promise<string | undefined> {
  try {
    await take(store, side, step, ended, cycle.startsAt)
    return undefined
  } catch (error) {
    if (error instanceof ServiceError) return error.code
    throw error
  } finally {
    if (step.do === 'turn') await side.harness.asTenant((tx) => renewCycle(tx, ended.key))
    await side.harness.asTenant(currentCycle)
  }
}

async function take(store: TestStore, side: Side, step: Step, ended: Cycle, since: number): Promise<void> {
  if (step.do === 'wait') return
  const { harness } = side
  const simId = side.sims[step.sim] ?? 0
  switch (step.do) {
    case 'activate':
      return harness.complete({ simId, type: TicketType.Activate })
    case 'suspend':
      return harness.complete({ simId, type: TicketType.Suspend })
    case 'limit':
      return harness.complete({ simId, type: TicketType.Suspend, cause: watchdogIn(ended.key) })
    case 'provision':
      return harness.complete({ simId, type: TicketType.Provision, ...placeOn(side, step) })
    case 'unassign':
      return harness.complete({ simId, type: TicketType.Provision, unassign: true })
    case 'use': {
      const at = new Date(Math.max(since, store.now - step.hoursAgo * HOUR)).toISOString()
      const { rejected } = await harness.record([harness.usage(simId, { bytesUp: step.bytes, at })])
      if (rejected.length > 0) throw new Error(`rejected: ${JSON.stringify(rejected)}`)
      return
    }
    case 'turn': {
      const change = step.pool === null ? { unassign: true } : { poolId: side.pools[step.pool] ?? 0 }
      const cause: Cause = { by: 'month-end', cycle: ended.key }
      const effectiveAt = new Date(ended.endsAt)
      return harness.complete({ simId, type: TicketType.Provision, ...change, cause, effectiveAt })
    }
  }
}

const watchdogIn = (cycle: string): Cause => ({
  by: 'watchdog',
  rule: 'sim-overage',
  cycle,
  until: 'renewal',
  workflowId: `suspend-on-overage:${cycle}`,
})

/** All that there is of a side since the cycle of the takeover, under names instead of ids. */
export async function seen({ cycle }: Twins, { harness }: Side) {
  const since = new Date(cycle.startsAt)
  const tag = sql`(select tag from sims where id = sim_id)`
  const pool = sql`(select name from pools where id = pool_id)`
  const tariff = sql`(select display_name from tariffs where id = tariff_id)`
  const here = sql`cycle_key in (select key from cycles where starts_at >= ${since})`
  const amounts = sql`bytes, voice_seconds, sms_count`
  const used = sql`(bytes <> 0 or voice_seconds <> 0 or sms_count <> 0)`
  const { key } = await harness.asTenant(currentCycle)
  const plan = await harness.asTenant((tx) => planMonthEnd(tx, key))
  return {
    sims: await harness.rows(sql`
      select tag, status, ${pool} as pool, ${tariff} as tariff, provisioned_at,
             (select cause from suspensions where sim_id = s.id and closed_at is null) as cause
        from sims s order by tag`),
    pools: await harness.rows(sql`select name, active_sim_count, total_sim_count from pools order by name`),
    memberships: await harness.rows(sql`
      select ${tag} as tag, ${pool} as pool, ${tariff} as tariff, greatest(from_at, ${since}) as from_at, to_at
        from memberships where coalesce(to_at, 'infinity') > ${since} order by 1, 4, 5`),
    spans: await harness.rows(sql`
      select ${tag} as tag, greatest(from_at, ${since}) as from_at, to_at
        from active_spans where coalesce(to_at, 'infinity') > ${since} order by 1, 2, 3`),
    ledger: await harness.rows(sql`
      select cycle_key, ${tag} as tag, ${pool} as pool, ${tariff} as tariff, contributing, ${amounts}
        from usage_ledger where ${here} order by 1, 2, 3`),
    totals: await harness.rows(sql`
      select cycle_key, ${pool} as pool, contributing, ${amounts} from pool_cycles
       where ${here} and (contributing > 0 or ${used}) order by 1, 2`),
    cycles: await harness.rows(sql`
      select key, ${amounts}, records_accepted, closed_at from cycles where starts_at >= ${since} order by 1`),
    buckets: await harness.rows(sql`
      select subject_kind, coalesce(case subject_kind when 1 then (select tag from sims where id = subject_id)
                                                      when 2 then (select name from pools where id = subject_id) end, '') as name,
             starts_at, ${amounts}
        from usage_buckets where starts_at >= ${since} and ${used} order by 1, 2, 3`),
    sightings: await harness.rows(sql`select ${tag} as tag, last_seen_at from sim_sightings order by 1`),
    statements: await harness.rows(sql`
      select cycle_key, kind, adjusts, pool_name, ${tag} as tag, ${tariff} as tariff, ${amounts}, limit_bytes,
             overage_bytes, fee_micro, sms_micro, voice_micro, overage_micro
        from statements where ${here} order by cycle_key, kind, pool_name, tag, adjusts`),
    plan: {
      ...plan,
      pools: plan.pools.first.map(({ poolId: _, ...one }) => one),
      changes: 0,
      renewals: plan.renewals.count,
    },
  }
}
