import fc from 'fast-check'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { Allowance } from '../../domain/allowance.ts'
import { PoolType, SimStatus, TariffType, TicketType } from '../../domain/codes.ts'
import { type Cycle, previousCycle } from '../../domain/cycle.ts'
import type { Cause } from '../../domain/ticket.ts'
import { currentCycle } from '../../store/cycles.ts'
import { poolFigures, simFigures } from '../../store/figures.ts'
import { pageOfPools } from '../../store/pools.ts'
import { aGround, aPool, aTariff } from '../setup/estate.ts'
import {
  aLine,
  BILLING_CYCLE,
  bytesOf,
  cycleOf,
  figuresOf,
  type LineModel,
  OUTSIDE,
  openMembership,
} from './figure-model.ts'
import { aHouse } from './house.ts'

const DAY = 86_400_000
const BEGIN = Date.parse('2026-10-20T09:00:00Z')
const OPEN = Number.POSITIVE_INFINITY
const ground = await aGround(new Date(BEGIN).toISOString())

/** Small allowances, so that a few records go over them; odd ones, so that shares do not come out even. */
const TARIFFS = [
  { type: TariffType.Standard, allowanceBytes: 1000 },
  { type: TariffType['Dynamic Pool'], allowanceBytes: 701 },
  { type: TariffType['Fixed Pool'], allowanceBytes: 2503 },
  { type: TariffType.Standard, allowanceBytes: 350 },
] as const satisfies readonly Allowance[]
/** By number of the tariff: two Standard pools, a Dynamic and a Fixed one. */
const POOLS = [0, 1, 2, 3] as const
const SIMS = 4
/** Histories, and how long they are looked for and made shorter; a longer search: `RUNS=1000`. */
const RUNS = Number(process.env.RUNS ?? 60)
const MOST_MS = RUNS * 600

type Step =
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
  | {
      readonly do: 'use'
      readonly sim: number
      readonly bytes: number
      readonly hoursAgo: number
      readonly again: boolean
    }
  | { readonly do: 'correct'; readonly sim: number; readonly bytes: number; readonly hoursAgo: number }
  | { readonly do: 'look' }
  | { readonly do: 'wait'; readonly days: number }

const sim = fc.nat(SIMS - 1)
const maybe = <T>(of: fc.Arbitrary<T>) => fc.option(of, { freq: 2 })
const pool = maybe(fc.constantFrom(...POOLS))
const own = maybe(fc.nat(TARIFFS.length - 1))
const bytes = fc.oneof(fc.constant(0), fc.nat(2000), fc.nat(3))
const hoursAgo = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(40 * 24))
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('provision' as const), sim, pool, own }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('activate' as const), sim, boundary: fc.constant(false) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('suspend' as const),
      sim,
      by: fc.constantFrom('user' as const, 'watchdog' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('unassign' as const), sim, boundary: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('move' as const),
      sim,
      pool,
      own,
      since: fc.constantFrom('now' as const, 'boundary' as const, 'boundary' as const, 'boundary before' as const),
    }),
  },
  { weight: 7, arbitrary: fc.record({ do: fc.constant('use' as const), sim, bytes, hoursAgo, again: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('correct' as const),
      sim,
      bytes: fc.integer({ min: -1500, max: 0 }),
      hoursAgo,
    }),
  },
  { weight: 2, arbitrary: fc.constant({ do: 'look' as const }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const), days: fc.integer({ min: 1, max: 20 }) }) },
)
/** What makes the rest worth it: SIMs that may be used, in a cycle that has just begun or goes on. */
const beginning = (first: number, renewed: boolean): Step[] => [
  { do: 'provision', sim: 0, pool: first, own: null },
  { do: 'activate', sim: 0, boundary: false },
  { do: 'use', sim: 0, bytes: 1100, hoursAgo: 0, again: false },
  ...(renewed
    ? [{ do: 'wait', days: 13 } as const, { do: 'use', sim: 0, bytes: 900, hoursAgo: 0, again: false } as const]
    : []),
]

/** Rare, and once wrong: usage comes late, from a membership before the one that a row goes by. */
const LATE: Step[] = [
  { do: 'provision', sim: 1, pool: null, own: null },
  { do: 'wait', days: 1 },
  { do: 'unassign', sim: 1, boundary: false },
  { do: 'provision', sim: 1, pool: null, own: 0 },
  { do: 'use', sim: 1, bytes: 5, hoursAgo: 12, again: true },
]

async function aWorld() {
  ground.now = BEGIN
  const house = await aHouse(ground, BILLING_CYCLE)
  const { tariffIds, poolIds } = await house.asTenant(async (tx) => {
    const tariffIds: number[] = []
    for (const { type, allowanceBytes } of TARIFFS) tariffIds.push((await aTariff(tx, type, allowanceBytes)).id)
    const poolIds: number[] = []
    for (const n of POOLS) {
      const type = TARIFFS[n].type === TariffType['Dynamic Pool'] ? PoolType.Dynamic : PoolType.Standard
      poolIds.push((await aPool(tx, tariffIds[n] ?? 0, { type })).id)
    }
    return { tariffIds, poolIds }
  })
  const lines = (await house.unprovisioned(SIMS)).map(aLine)
  const tariffs = new Map(tariffIds.map((id, n) => [id, TARIFFS[n] as Allowance]))
  const pools = [
    { id: OUTSIDE, tariff: null as Allowance | null },
    ...poolIds.map((id, n) => ({ id, tariff: TARIFFS[n] as Allowance })),
  ]
  return { house, lines, tariffs, pools, tariffIds, poolIds, cycles: new Map<string, Cycle>(), serial: { last: 0 } }
}
type World = Awaited<ReturnType<typeof aWorld>>

/** Whether the step can be taken now; one that cannot is passed over, so that histories shrink freely. */
function mayTake(world: World, line: LineModel, step: Exclude<Step, { do: 'look' | 'wait' }>): boolean {
  const at = openMembership(line)
  switch (step.do) {
    case 'provision':
      return (
        line.status === 'unprovisioned' &&
        (step.pool !== null || step.own === null || TARIFFS[step.own]?.type === TariffType.Standard)
      )
    case 'activate':
      return line.status === 'suspended'
    case 'suspend':
      return line.status === 'active'
    case 'unassign':
      return at !== undefined && (!step.boundary || at.from < cycleOf(ground.now).startsAt)
    case 'move': {
      if (at === undefined || at.from > sinceOf(step.since)) return false
      const poolId = step.pool === null ? at.poolId : (world.poolIds[step.pool] ?? 0)
      const tariffId = step.own === null ? at.tariffId : (world.tariffIds[step.own] ?? 0)
      if (poolId === at.poolId && tariffId === at.tariffId) return false
      return poolId !== OUTSIDE || step.own === null || TARIFFS[step.own]?.type === TariffType.Standard
    }
    case 'use':
    case 'correct':
      return true
  }
}

function sinceOf(since: 'now' | 'boundary' | 'boundary before'): number {
  const cycle = cycleOf(ground.now)
  if (since === 'now') return ground.now
  return since === 'boundary' ? cycle.startsAt : previousCycle(BILLING_CYCLE, cycle).startsAt
}

async function take(world: World, step: Step): Promise<void> {
  const { house } = world
  // No two steps at one instant: a span has a length.
  ground.now += 1000
  if (step.do === 'look') return look(world, [cycleOf(ground.now)])
  if (step.do === 'wait') return wait(world, step.days)
  const line = world.lines[step.sim]
  if (line === undefined || !mayTake(world, line, step)) return
  const { simId } = line
  const now = ground.now
  // As a worker does before it takes up a SIM's tickets.
  await house.asTenant(currentCycle)
  const cycle = cycleOf(now)
  const monthEnd: Cause = { by: 'month-end', cycle: cycle.key }
  switch (step.do) {
    case 'provision': {
      const poolId = step.pool === null ? null : (world.poolIds[step.pool] ?? null)
      const tariffId = step.own === null ? null : (world.tariffIds[step.own] ?? null)
      await house.complete({ simId, type: TicketType.Provision, poolId, tariffId })
      line.status = 'suspended'
      line.memberships.push({ poolId: poolId ?? OUTSIDE, tariffId, from: now, to: OPEN })
      return
    }
    case 'activate':
      await house.complete({ simId, type: TicketType.Activate })
      line.status = 'active'
      line.suspendedIn = null
      line.active.push({ from: now, to: OPEN })
      return
    case 'suspend': {
      const watchdog: Cause = { by: 'watchdog', rule: 'r', cycle: cycle.key, until: 'renewal', workflowId: 'w' }
      await house.complete({
        simId,
        type: TicketType.Suspend,
        cause: step.by === 'watchdog' ? watchdog : { by: 'user' },
      })
      line.status = 'suspended'
      line.suspendedIn = step.by === 'watchdog' ? cycle.key : null
      closeActive(line, now)
      return
    }
    case 'unassign': {
      const since = step.boundary ? cycle.startsAt : now
      await house.complete({
        simId,
        type: TicketType.Provision,
        unassign: true,
        cause: step.boundary ? monthEnd : { by: 'user' },
        effectiveAt: step.boundary ? new Date(since) : null,
      })
      line.status = 'unprovisioned'
      line.suspendedIn = null
      closeMembership(line, since)
      closeActive(line, since)
      return
    }
    case 'move': {
      const since = sinceOf(step.since)
      const before = openMembership(line)
      if (before === undefined) return
      const poolId = step.pool === null ? null : (world.poolIds[step.pool] ?? null)
      const tariffId = step.own === null ? null : (world.tariffIds[step.own] ?? null)
      const effectiveAt = step.since === 'now' ? null : new Date(since)
      await house.complete({ simId, type: TicketType.Provision, poolId, tariffId, cause: monthEnd, effectiveAt })
      closeMembership(line, since)
      line.memberships.push({
        poolId: poolId ?? before.poolId,
        tariffId: tariffId ?? before.tariffId,
        from: since,
        to: OPEN,
      })
      return
    }
    case 'use':
    case 'correct':
      return use(world, line, step)
  }
}

function closeMembership(line: LineModel, at: number): void {
  const membership = openMembership(line)
  if (membership !== undefined) membership.to = Math.max(membership.from, at)
}
function closeActive(line: LineModel, at: number): void {
  const span = line.active.find(({ to }) => to === OPEN)
  if (span !== undefined) span.to = Math.max(span.from, at)
}

async function use(world: World, line: LineModel, step: Extract<Step, { do: 'use' | 'correct' }>): Promise<void> {
  const at = ground.now - step.hoursAgo * 3_600_000
  const cycle = cycleOf(at)
  world.cycles.set(cycle.key, cycle)
  const record = {
    ...world.house.usage(line.simId, { at: new Date(at).toISOString() }),
    bytesDown: step.bytes,
    ...(step.do === 'correct' ? { correction: true } : {}),
  }
  const poolId = line.memberships.findLast(({ from, to }) => from <= at && at < to)?.poolId ?? OUTSIDE
  const fits = bytesOf(line, cycle, poolId) + step.bytes >= 0

  const answer = await world.house.record([record])
  const again = step.do === 'use' && step.again ? await world.house.record([record]) : undefined

  expect(answer, 'the answer to a record').toMatchObject({
    accepted: fits ? 1 : 0,
    duplicates: 0,
    rejected: fits ? [] : [{ code: 'negative_total' }],
  })
  if (again !== undefined)
    expect(again, 'the answer to a record sent again').toMatchObject({ accepted: 0, duplicates: 1 })
  if (fits) line.records.push({ id: record.recordId, at, bytes: step.bytes })
}

async function wait(world: World, days: number): Promise<void> {
  // The sweep opens every cycle; only the last one may be opened by whoever comes first.
  await world.house.asTenant(currentCycle)
  const before = cycleOf(ground.now)
  ground.now += days * DAY
  const cycle = cycleOf(ground.now)
  if (cycle.key === before.key) return
  for (const line of world.lines) {
    if (line.suspendedIn !== null && line.suspendedIn < cycle.key) line.dueBack.add(cycle.key)
  }
}

/** A row of zeros is as good as none. */
const tellsSomething = (row: { readonly limit: number; readonly bytes: number; readonly overage: number }) =>
  row.limit > 0 || row.bytes > 0 || row.overage > 0

async function look(world: World, cycles: readonly Cycle[]): Promise<void> {
  for (const cycle of cycles) {
    const expected = new Map(world.pools.map((pool) => [pool.id, figuresOf(world.lines, cycle, pool, world.tariffs)]))
    const { pools, sims, rows } = await world.house.asTenant(async (tx) => {
      await currentCycle(tx)
      return {
        pools: await poolFigures(
          tx,
          cycle.key,
          world.pools.map(({ id }) => id),
        ),
        sims: await simFigures(
          tx,
          cycle.key,
          world.lines.map(({ simId }) => simId),
        ),
        rows: (
          await sql<{ simId: number; poolId: number; own: boolean; limit: number; bytes: number; overage: number }>`
            select sim_id as "simId", pool_id as "poolId", governing_type = 0 as own, limit_bytes as "limit", bytes,
                   overage_bytes as overage
              from ledger_figures where cycle_key = ${cycle.key} order by pool_id, sim_id`.execute(tx.q)
        ).rows,
      }
    })
    for (const { id, tariff } of world.pools) {
      const mine = rows.filter(({ poolId }) => poolId === id)
      const actual = pools.get(id)
      const wanted = expected.get(id)
      const kind = tariff === null ? 'no pool' : `the pool of type ${tariff.type}`
      const where = `${kind} in ${cycle.key}`
      expect(
        {
          ...actual,
          rows: mine
            .map(({ simId, limit, bytes, overage }) => ({ simId, limit, bytes, overage }))
            .filter(tellsSomething),
        },
        where,
      ).toMatchObject({
        limitBytes: wanted?.limitBytes,
        usageBytes: wanted?.usageBytes,
        overageBytes: wanted?.overageBytes,
        remainingBytes: wanted?.remainingBytes,
        rows: wanted?.rows
          .map(({ simId, limitBytes, overageBytes }, n) => ({
            simId,
            limit: limitBytes,
            bytes: wanted.ledger[n]?.usageBytes ?? 0,
            overage: overageBytes,
          }))
          .filter(tellsSomething),
      })
      const contributing = wanted?.ledger.filter((row) => row.contributing).length ?? 0
      if (tariff?.type === TariffType['Dynamic Pool'])
        expect(actual?.limitBytes).toBe(tariff.allowanceBytes * contributing)
      if (tariff?.type === TariffType['Fixed Pool']) {
        expect(actual?.limitBytes).toBe(tariff.allowanceBytes)
        const share = Math.floor(tariff.allowanceBytes / Math.max(1, contributing))
        for (const { limit } of mine) expect([0, share]).toContain(limit)
      }
      const sum = (of: (row: (typeof mine)[number]) => number) => mine.reduce((total, row) => total + of(row), 0)
      expect(
        sum((row) => row.overage),
        `overage of the rows of ${where}`,
      ).toBe(actual?.overageBytes)
      expect(
        sum((row) => row.bytes),
        `usage of the rows of ${where}`,
      ).toBe(actual?.usageBytes)
      for (const row of mine.filter(({ own }) => own)) {
        expect(row.overage > 0 && row.limit > row.bytes, 'a row with overage and something remaining').toBe(false)
      }
    }
    for (const { simId } of world.lines) {
      const mine = rows.filter((row) => row.simId === simId)
      const sum = (of: (row: (typeof mine)[number]) => number) => mine.reduce((total, row) => total + of(row), 0)
      expect(sims.get(simId), `SIM ${simId} in ${cycle.key}`).toEqual(
        mine.length === 0
          ? undefined
          : {
              limitBytes: sum(({ limit }) => limit),
              usageBytes: sum((row) => row.bytes),
              remainingBytes: sum((row) => Math.max(0, row.limit - row.bytes)),
              overageBytes: sum(({ overage }) => overage),
              voiceSeconds: 0,
              smsCount: 0,
            },
      )
    }
  }
  await lookAtPools(world)
}

async function lookAtPools(world: World): Promise<void> {
  const { data } = await world.house.asTenant((tx) => pageOfPools(tx, {}))
  const sims = await world.house.rows(
    sql<{ poolId: number; status: SimStatus }>`select pool_id as "poolId", status from sims where pool_id is not null`,
  )
  const { endsAt } = cycleOf(ground.now)
  for (const pool of data) {
    const mine = sims.filter(({ poolId }) => poolId === pool.id)
    expect(pool).toMatchObject({
      totalSimCount: mine.length,
      activeSimCount: mine.filter(({ status }) => status === SimStatus.Active).length,
    })
    expect(ground.now + pool.daysUntilRenewal * DAY).toBeGreaterThanOrEqual(endsAt)
    expect(ground.now + (pool.daysUntilRenewal - 1) * DAY).toBeLessThan(endsAt)
  }
}

test('figures are what the history of pools and SIMs adds up to, in bytes', { timeout: MOST_MS + 30_000 }, async () => {
  let steps = 0
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...POOLS),
      fc.boolean(),
      fc.array(step, { minLength: 8, maxLength: 40 }),
      async (first, renewed, history) => {
        const world = await aWorld()
        const began = cycleOf(BEGIN)
        for (const one of [...beginning(first, renewed), ...history]) {
          steps++
          await take(world, one)
        }
        for (const cycle of [began, cycleOf(ground.now)]) world.cycles.set(cycle.key, cycle)
        await look(world, [...world.cycles.values()])
        const used = world.lines.flatMap(({ records }) => records).reduce((sum, { bytes }) => sum + bytes, 0)
        const ledger = await world.house.ledger()
        expect(ledger.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(used)
      },
    ),
    { numRuns: RUNS, interruptAfterTimeLimit: MOST_MS, examples: [[0, false, LATE]] },
  )
  expect(steps).toBeGreaterThan(0)
})
