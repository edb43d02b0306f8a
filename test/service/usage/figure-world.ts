/**
 * Random histories of a small estate. Each step is taken twice: in the service, by its functions, and in the model
 * (figure-model.ts), as the service promises to behave.
 */
import fc from 'fast-check'
import { expect } from 'vitest'
import { PoolType, TariffType, TicketType } from '../../../domain/codes.ts'
import type { Cause } from '../../../domain/tickets/ticket.ts'
import { type Cycle, cycleAt, nextCycle, previousCycle } from '../../../domain/time/cycle.ts'
import type { Allowance } from '../../../domain/usage/allowance.ts'
import { deletePool } from '../../../service/pools/delete-pool.ts'
import { currentCycle } from '../../../service/usage/rows/cycles.ts'
import { openSlice } from '../../../service/usage/rows/open-cycle.ts'
import { aPool, aTariff, type TestStore } from '../../setup/estate.ts'
import { weighed } from '../../setup/weighed.ts'
import { aHarness } from '../harness.ts'
import { AMOUNTS, aLine, amountsOf, type LineModel, OUTSIDE, openMembership } from './figure-model.ts'

const DAY = 86_400_000
export const BEGIN = Date.parse('2026-10-20T09:00:00Z')
export const FOREVER = Number.POSITIVE_INFINITY

/** A tariff's allowance, and its fees in micro-units of the currency. */
export interface Terms extends Allowance {
  readonly simMonthlyFee: number
  readonly fixedBucketCost: number
  readonly smsFee: number
  /** Per minute. */
  readonly voiceFee: number
  readonly overageFeePerGb: number
}
const fees = (
  simMonthlyFee: number,
  smsFee: number,
  voiceFee: number,
  overageFeePerGb: number,
  fixedBucketCost = 0,
) => ({ simMonthlyFee, smsFee, voiceFee, overageFeePerGb, fixedBucketCost })
/**
 * The allowances are small, so that a few records exceed them, and odd, so that shares do not divide evenly. The fees
 * need rounding: by some, a second of voice costs a fraction of a micro-unit; a byte of overage costs half a micro-unit
 * by the first tariff, one and a third by the second.
 */
const TARIFFS = [
  { type: TariffType.Standard, allowanceBytes: 1000, ...fees(1_000_001, 7, 31, 500_000_000) },
  { type: TariffType['Dynamic Pool'], allowanceBytes: 701, ...fees(300_000, 11, 90, 1_333_333_333) },
  { type: TariffType['Fixed Pool'], allowanceBytes: 2503, ...fees(0, 0, 1, 7_500_000_001, 20_000_003) },
  { type: TariffType.Standard, allowanceBytes: 350, ...fees(5, 50_000, 100_000, 5_000_000) },
] as const satisfies readonly Terms[]
/** Pools by number. Pool n has tariff n: Standard, Dynamic, Fixed, Standard. */
export const POOLS = [0, 1, 2, 3] as const
const SIMS = 4

export interface PoolModel {
  /** 0: outside pools; null: not created yet. */
  id: number | null
  readonly tariff: Terms | null
  createdAt: number
  deletedAt: number
}

interface Used {
  readonly sim: number
  readonly bytes: number
  readonly voiceSeconds?: number
  readonly smsCount?: number
  readonly sessions?: number
  readonly hoursAgo: number
}
export type Step =
  | { readonly do: 'provision'; readonly sim: number; readonly pool: number | null; readonly own: number | null }
  | { readonly do: 'activate' | 'unassign'; readonly sim: number; readonly boundary: boolean }
  | { readonly do: 'suspend'; readonly sim: number; readonly by: 'user' | 'watchdog' }
  | {
      readonly do: 'move'
      readonly sim: number
      readonly pool: number | null
      readonly own: number | null
      readonly since: 'now' | 'boundary' | 'boundary before'
    }
  | (Used & { readonly do: 'use'; readonly again: boolean })
  | (Used & { readonly do: 'correct' })
  | { readonly do: 'make'; readonly pool: number }
  | { readonly do: 'delete'; readonly pool: number }
  | { readonly do: 'wait'; readonly days: number }
  | { readonly do: 'open ahead'; readonly slices: number }
type OfOneSim = Extract<Step, { readonly sim: number }>

const sim = fc.nat(SIMS - 1)
const maybe = <T>(of: fc.Arbitrary<T>) => fc.option(of, { freq: 2 })
const pool = maybe(fc.constantFrom(...POOLS))
const own = maybe(fc.nat(TARIFFS.length - 1))
const bytes = fc.oneof(fc.constant(0), fc.nat(2000), fc.nat(3))
const less = {
  bytes: fc.integer({ min: -1500, max: 0 }),
  voiceSeconds: fc.integer({ min: -60, max: 0 }),
  smsCount: fc.constantFrom(0, 0, -1),
  sessions: fc.constantFrom(0, 0, -2),
}
const others = fc.oneof(fc.constant(0), fc.nat(130))

/** Steps that change SIMs (`lives`), and steps that record usage. @param mostHoursAgo how late a record may be */
export const stepsOf = (mostHoursAgo: number): Record<'lives' | 'usage', fc.Arbitrary<Step>> => {
  const hoursAgo = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(mostHoursAgo))
  return {
    lives: fc.oneof(
      weighed(3, ['provision'], { sim, pool, own }),
      weighed(4, ['activate'], { sim, boundary: fc.constant(false) }),
      weighed(2, ['suspend'], { sim, by: fc.constantFrom('user', 'watchdog') }),
      weighed(1, ['unassign'], { sim, boundary: fc.boolean() }),
      weighed(2, ['move'], {
        sim,
        pool,
        own,
        since: fc.constantFrom('now', 'boundary', 'boundary', 'boundary before'),
      }),
    ),
    usage: fc.oneof(
      weighed(7, ['use'], {
        sim,
        bytes,
        voiceSeconds: others,
        smsCount: others,
        sessions: others,
        hoursAgo,
        again: fc.boolean(),
      }),
      weighed(1, ['correct'], { sim, ...less, hoursAgo }),
    ),
  }
}

/** Opens slices of the next cycle, a SIM each. One more than there are SIMs opens the cycle. */
export const aheads: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('open ahead' as const),
  slices: fc.integer({ min: 1, max: SIMS + 1 }),
})

/** @param made numbers of the pools that exist from the beginning; steps may create the others */
export async function aWorld(store: TestStore, billingCycle: string, made: readonly number[] = POOLS) {
  store.now = BEGIN
  const harness = await aHarness(store, billingCycle)
  const tariffIds = await harness.asTenant(async (tx) => {
    const ids: number[] = []
    for (const { type, allowanceBytes, ...micro } of TARIFFS) {
      const money = Object.fromEntries(Object.entries(micro).map(([name, amount]) => [name, amount / 1_000_000]))
      ids.push((await aTariff(tx, type, allowanceBytes, money as Omit<Terms, keyof Allowance>)).id)
    }
    return ids
  })
  const notYet = { id: null, createdAt: FOREVER, deletedAt: FOREVER }
  const world = {
    store,
    harness,
    billingCycle,
    lines: (await harness.unprovisioned(SIMS)).map(aLine),
    tariffIds,
    tariffs: new Map(tariffIds.map((id, n) => [id, TARIFFS[n] as Terms])),
    /** By number. */
    pools: POOLS.map((n): PoolModel => ({ ...notYet, tariff: TARIFFS[n] })),
    /** Cycles of all records that were sent, by key. */
    cycles: new Map<string, Cycle>(),
  }
  for (const n of made) await make(world, n)
  return world
}
export type World = Awaited<ReturnType<typeof aWorld>>

/** All places where SIMs can be or have been: outside pools, and in each pool created so far, deleted or not. */
export const placesOf = (world: Pick<World, 'pools'>): (PoolModel & { readonly id: number })[] => [
  { id: OUTSIDE, tariff: null, createdAt: BEGIN, deletedAt: FOREVER },
  ...world.pools.flatMap((pool) => (pool.id === null ? [] : [{ ...pool, id: pool.id }])),
]

export const cycleNow = (world: Pick<World, 'store' | 'billingCycle'>) => cycleAt(world.billingCycle, world.store.now)

async function make(world: Pick<World, 'harness' | 'store' | 'pools' | 'tariffIds'>, n: number): Promise<void> {
  const pool = world.pools[n]
  if (pool === undefined || pool.id !== null) return
  const type = pool.tariff?.type === TariffType['Dynamic Pool'] ? PoolType.Dynamic : PoolType.Standard
  pool.id = (await world.harness.asTenant((tx) => aPool(tx, world.tariffIds[n] ?? 0, { type }))).id
  pool.createdAt = world.store.now
}

async function remove(world: World, n: number): Promise<void> {
  const pool = world.pools[n]
  const id = pool?.id
  if (pool === undefined || id == null || pool.deletedAt !== FOREVER) return
  if (world.lines.some((line) => openMembership(line)?.poolId === id)) return
  await world.harness.asTenant((tx) => deletePool(tx, id))
  pool.deletedAt = world.store.now
}

/** Whether the pool exists now. */
const isThere = (world: World, n: number) => world.pools[n]?.id != null && world.pools[n]?.deletedAt === FOREVER

/**
 * Whether a SIM may get this own tariff: outside pools a Standard one, in a Standard pool any, in a shared pool only
 * the pool's (which has the pool's number).
 */
const mayName = ({ pool, own }: { readonly pool: number | null; readonly own: number | null }) =>
  own === null || own === pool || TARIFFS[pool ?? own]?.type === TariffType.Standard

/** Whether the step is possible now. Others are skipped, so that fast-check can shrink histories freely. */
function mayTake(world: World, line: LineModel, step: OfOneSim): boolean {
  const at = openMembership(line)
  if ('pool' in step && step.pool !== null && !isThere(world, step.pool)) return false
  switch (step.do) {
    case 'provision':
      return line.status === 'unprovisioned' && mayName(step)
    case 'activate':
      return line.status === 'suspended'
    case 'suspend':
      return line.status === 'active'
    case 'unassign':
      return at !== undefined && (!step.boundary || at.from < cycleNow(world).startsAt)
    case 'move': {
      if (at === undefined || at.from > sinceOf(world, step.since)) return false
      const poolId = step.pool === null ? at.poolId : (world.pools[step.pool]?.id ?? 0)
      const tariffId = step.own === null ? at.tariffId : (world.tariffIds[step.own] ?? 0)
      if (poolId === at.poolId && tariffId === at.tariffId) return false
      return poolId !== OUTSIDE || step.own === null || TARIFFS[step.own]?.type === TariffType.Standard
    }
    case 'use':
    case 'correct':
      return true
  }
}

function sinceOf(world: World, since: 'now' | 'boundary' | 'boundary before'): number {
  const cycle = cycleNow(world)
  if (since === 'now') return world.store.now
  return since === 'boundary' ? cycle.startsAt : previousCycle(world.billingCycle, cycle).startsAt
}

/** Takes a step, in the service and in the model. */
export async function take(world: World, step: Step): Promise<void> {
  const { harness, store } = world
  // No two steps happen at one instant, so every span has a length.
  store.now += 1000
  if (step.do === 'wait') return wait(world, step.days)
  if (step.do === 'open ahead') return openAhead(world, step.slices)
  if (step.do === 'make') return make(world, step.pool)
  if (step.do === 'delete') return remove(world, step.pool)
  const line = world.lines[step.sim]
  if (line === undefined || !mayTake(world, line, step)) return
  const { simId } = line
  const now = store.now
  // Opens the cycle, as a worker does before it claims a SIM's tickets.
  await harness.asTenant(currentCycle)
  const cycle = cycleNow(world)
  const monthEnd: Cause = { by: 'month-end', cycle: cycle.key }
  switch (step.do) {
    case 'provision': {
      const poolId = step.pool === null ? null : (world.pools[step.pool]?.id ?? null)
      const tariffId = step.own === null ? null : (world.tariffIds[step.own] ?? null)
      await harness.complete({ simId, type: TicketType.Provision, poolId, tariffId })
      line.status = 'suspended'
      line.memberships.push({ poolId: poolId ?? OUTSIDE, tariffId, from: now, to: FOREVER })
      return
    }
    case 'activate':
      await harness.complete({ simId, type: TicketType.Activate })
      line.status = 'active'
      line.suspendedIn = null
      closeDueBack(line, now)
      line.active.push({ from: now, to: FOREVER })
      return
    case 'suspend': {
      const watchdog: Cause = { by: 'watchdog', rule: 'r', cycle: cycle.key, until: 'renewal', workflowId: 'w' }
      await harness.complete({
        simId,
        type: TicketType.Suspend,
        cause: step.by === 'watchdog' ? watchdog : { by: 'user' },
      })
      line.status = 'suspended'
      line.suspendedIn = step.by === 'watchdog' ? cycle.key : null
      closeDueBack(line, now)
      closeActive(line, now)
      return
    }
    case 'unassign': {
      const since = step.boundary ? cycle.startsAt : now
      await harness.complete({
        simId,
        type: TicketType.Provision,
        unassign: true,
        cause: step.boundary ? monthEnd : { by: 'user' },
        effectiveAt: step.boundary ? new Date(since) : null,
      })
      line.status = 'unprovisioned'
      line.suspendedIn = null
      closeDueBack(line, since)
      closeMembership(line, since)
      closeActive(line, since)
      return
    }
    case 'move': {
      const since = sinceOf(world, step.since)
      const before = openMembership(line)
      if (before === undefined) return
      const poolId = step.pool === null ? null : (world.pools[step.pool]?.id ?? null)
      const tariffId = step.own === null ? null : (world.tariffIds[step.own] ?? null)
      const effectiveAt = step.since === 'now' ? null : new Date(since)
      await harness.complete({ simId, type: TicketType.Provision, poolId, tariffId, cause: monthEnd, effectiveAt })
      closeMembership(line, since)
      line.memberships.push({
        poolId: poolId ?? before.poolId,
        tariffId: tariffId ?? before.tariffId,
        from: since,
        to: FOREVER,
      })
      return
    }
    case 'use':
    case 'correct':
      return use(world, line, step)
  }
}

async function openAhead(world: World, slices: number): Promise<void> {
  const next = nextCycle(world.billingCycle, cycleNow(world))
  for (let n = 0; n < slices; n++) await world.harness.asTenant((tx) => openSlice(tx, next, 1))
}

function closeMembership(line: LineModel, at: number): void {
  const membership = openMembership(line)
  if (membership !== undefined) membership.to = Math.max(membership.from, at)
}
function closeActive(line: LineModel, at: number): void {
  const span = line.active.find(({ to }) => to === FOREVER)
  if (span !== undefined) span.to = Math.max(span.from, at)
}

function closeDueBack(line: LineModel, at: number): void {
  for (const span of line.dueBack) if (span.to === FOREVER) span.to = Math.max(span.from, at)
}

async function use(world: World, line: LineModel, step: Extract<Step, { do: 'use' | 'correct' }>): Promise<void> {
  const at = world.store.now - step.hoursAgo * 3_600_000
  const cycle = cycleAt(world.billingCycle, at)
  world.cycles.set(cycle.key, cycle)
  const { bytes, voiceSeconds = 0, smsCount = 0, sessions = 0 } = step
  const record = {
    ...world.harness.usage(line.simId, { at: new Date(at).toISOString() }),
    bytesDown: bytes,
    voiceSeconds,
    smsCount,
    sessions,
    ...(step.do === 'correct' ? { correction: true } : {}),
  }
  const poolId = line.memberships.findLast(({ from, to }) => from <= at && at < to)?.poolId ?? OUTSIDE
  const sums = amountsOf(line, cycle, poolId)
  const added = { bytes, voiceSeconds, smsCount, sessions }
  const fits = AMOUNTS.every((amount) => sums[amount] + added[amount] >= 0)

  const answer = await world.harness.record([record])
  const again = step.do === 'use' && step.again ? await world.harness.record([record]) : undefined

  expect(answer, 'the result of a record').toMatchObject({
    accepted: fits ? 1 : 0,
    duplicates: 0,
    rejected: fits ? [] : [{ code: 'negative_total' }],
  })
  if (again !== undefined)
    expect(again, 'the result of a record sent again').toMatchObject({ accepted: 0, duplicates: 1 })
  if (fits) line.records.push({ id: record.recordId, at, ...added })
}

async function wait(world: World, days: number): Promise<void> {
  // The sweep opens every cycle. Here this does; a cycle that begins during the wait is opened by what comes next.
  await world.harness.asTenant(currentCycle)
  const before = cycleNow(world)
  world.store.now += days * DAY
  const cycle = cycleNow(world)
  if (cycle.key === before.key) return
  for (const line of world.lines) {
    if (line.suspendedIn !== null && line.suspendedIn < cycle.key)
      line.dueBack.push({ from: cycle.startsAt, to: FOREVER })
  }
}
