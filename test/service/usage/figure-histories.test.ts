import fc from 'fast-check'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { SimStatus, TariffType } from '../../../domain/codes.ts'
import { type Cycle, cycleAt } from '../../../domain/time/cycle.ts'
import { pageOfPools } from '../../../service/pools/rows/pools.ts'
import { wrongSums } from '../../../service/usage/rows/check-sums.ts'
import { currentCycle } from '../../../service/usage/rows/cycles.ts'
import { OVERAGE_BYTES, readPoolFigures, simFigures } from '../../../service/usage/rows/figures.ts'
import { cases } from '../../setup/cases.ts'
import { aStore } from '../../setup/estate.ts'
import { amountsOf, figuresOf } from './figure-model.ts'
import {
  aheads,
  aWorld,
  BEGIN,
  cycleNow,
  type Step as LifeStep,
  POOLS,
  placesOf,
  stepsOf,
  take,
  type World,
} from './figure-world.ts'

const DAY = 86_400_000
const BILLING_CYCLE = 'P1M'
// Cycles not opened ahead are opened in slices too.
const store = Object.assign(await aStore(new Date(BEGIN).toISOString()), { opening: { sims: 2, waitMs: 60_000 } })

/** Number of histories. They need a tenth of `MOST_MS`; the rest is for shrinking a failure. */
const RUNS = cases(60)
const MOST_MS = 120_000 + RUNS * 5000

type Step = LifeStep | { readonly do: 'look' }
const { lives, usage } = stepsOf(40 * 24)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: lives },
  { weight: 8, arbitrary: usage },
  { weight: 2, arbitrary: fc.constant({ do: 'look' as const }) },
  { weight: 2, arbitrary: aheads },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const), days: fc.integer({ min: 1, max: 20 }) }) },
)
/** Gives a history something to count: a SIM in use, in the first cycle or on into a later one. */
const beginning = (first: number, renewed: boolean): Step[] => [
  { do: 'provision', sim: 0, pool: first, own: null },
  { do: 'activate', sim: 0, boundary: false },
  { do: 'use', sim: 0, bytes: 1100, hoursAgo: 0, again: false },
  ...(renewed
    ? [{ do: 'wait', days: 13 } as const, { do: 'use', sim: 0, bytes: 900, hoursAgo: 0, again: false } as const]
    : []),
]

/** Rare, and once a bug: late usage, from a membership before the one that its ledger row uses. */
const LATE: Step[] = [
  { do: 'provision', sim: 1, pool: null, own: null },
  { do: 'wait', days: 1 },
  { do: 'unassign', sim: 1, boundary: false },
  { do: 'provision', sim: 1, pool: null, own: 0 },
  { do: 'use', sim: 1, bytes: 5, hoursAgo: 12, again: true },
]

const ALL_AMOUNTS = { bytes: 2, voiceSeconds: 3, smsCount: 5, sessions: 7, hoursAgo: 0, again: false }
/** A SIM with usage moves to another pool, as of the start of the cycle. */
const MOVED: Step[] = [
  { do: 'provision', sim: 1, pool: 0, own: null },
  { do: 'activate', sim: 1, boundary: false },
  { do: 'wait', days: 13 },
  { do: 'use', sim: 1, ...ALL_AMOUNTS },
  { do: 'move', sim: 1, pool: 1, own: null, since: 'boundary' },
]

/** The next cycle is opened ahead while SIMs change: each before, between and after the slices. */
const AHEAD: Step[] = [
  { do: 'provision', sim: 1, pool: 1, own: null },
  { do: 'activate', sim: 1, boundary: false },
  { do: 'provision', sim: 2, pool: 2, own: null },
  { do: 'open ahead', slices: 2 },
  { do: 'activate', sim: 2, boundary: false },
  { do: 'suspend', sim: 0, by: 'watchdog' },
  { do: 'move', sim: 1, pool: 0, own: 3, since: 'now' },
  { do: 'open ahead', slices: 2 },
  { do: 'suspend', sim: 2, by: 'user' },
  { do: 'open ahead', slices: 1 },
  { do: 'suspend', sim: 1, by: 'user' },
  { do: 'activate', sim: 2, boundary: false },
  { do: 'move', sim: 2, pool: 1, own: null, since: 'boundary' },
  { do: 'wait', days: 15 },
]

/** A row of zeros counts as no row. */
const hasAmounts = (row: { readonly limit: number; readonly bytes: number; readonly overage: number }) =>
  row.limit > 0 || row.bytes > 0 || row.overage > 0

async function look(world: World, cycles: readonly Cycle[]): Promise<void> {
  for (const cycle of cycles) {
    const expected = new Map(
      placesOf(world).map((pool) => [pool.id, figuresOf(world.lines, cycle, pool, world.tariffs)]),
    )
    const [ids, simIds] = [placesOf(world).map(({ id }) => id), world.lines.map(({ simId }) => simId)]
    const { pools, sims, wrong, rows } = await world.harness.asTenant(async (tx) => {
      await currentCycle(tx)
      return {
        pools: await readPoolFigures(tx, cycle.key, ids),
        sims: await simFigures(tx, cycle.key, simIds),
        wrong: await wrongSums(tx, cycle.key),
        rows: (
          await sql<{
            simId: number
            poolId: number
            own: boolean
            limit: number
            bytes: number
            overage: number
            voiceSeconds: number
            smsCount: number
            sessions: number
          }>`
            select f.sim_id as "simId", f.pool_id as "poolId", f.governing_type = 0 as own, f.limit_bytes as "limit", f.bytes,
                   ${OVERAGE_BYTES} as overage,
                   f.voice_seconds as "voiceSeconds", f.sms_count as "smsCount", f.sessions
              from ledger_figures f
              left join overage_places(${cycle.key}, ${ids}::integer[], null) o
                on o.pool_id = f.pool_id
             where f.cycle_key = ${cycle.key} order by f.pool_id, f.sim_id`.execute(tx.q)
        ).rows,
      }
    })
    expect(wrong).toEqual([])
    for (const { id, tariff } of placesOf(world)) {
      const mine = rows.filter(({ poolId }) => poolId === id)
      const actual = pools.get(id)
      const wanted = expected.get(id)
      const kind = tariff === null ? 'no pool' : `the pool of type ${tariff.type}`
      const where = `${kind} in ${cycle.key}`
      expect(
        {
          ...actual,
          rows: mine.map(({ simId, limit, bytes, overage }) => ({ simId, limit, bytes, overage })).filter(hasAmounts),
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
          .filter(hasAmounts),
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
      const sums = { usageBytes: sum(({ bytes }) => bytes), overageBytes: sum(({ overage }) => overage) }
      expect(actual, `the rows of ${where} add up`).toMatchObject(sums)
      for (const row of mine.filter(({ own }) => own)) {
        expect(row.overage > 0 && row.limit > row.bytes, 'a row with overage and something remaining').toBe(false)
      }
    }
    for (const line of world.lines) {
      const { simId } = line
      const mine = rows.filter((row) => row.simId === simId)
      for (const row of mine) expect(row, `a row of SIM ${simId}`).toMatchObject(amountsOf(line, cycle, row.poolId))
      const sum = (of: (row: (typeof mine)[number]) => number) => mine.reduce((total, row) => total + of(row), 0)
      expect(sims.get(simId), `SIM ${simId} in ${cycle.key}`).toEqual(
        mine.length === 0
          ? undefined
          : expect.objectContaining({
              limitBytes: sum(({ limit }) => limit),
              usageBytes: sum((row) => row.bytes),
              remainingBytes: sum((row) => Math.max(0, row.limit - row.bytes)),
              overageBytes: sum(({ overage }) => overage),
              voiceSeconds: sum((row) => row.voiceSeconds),
              smsCount: sum((row) => row.smsCount),
            }),
      )
    }
  }
  await lookAtPools(world)
}

async function lookAtPools(world: World): Promise<void> {
  const { data } = await world.harness.asTenant((tx) => pageOfPools(tx, {}))
  const sims = await world.harness.rows(
    sql<{ poolId: number; status: SimStatus }>`select pool_id as "poolId", status from sims where pool_id is not null`,
  )
  const { endsAt } = cycleNow(world)
  for (const pool of data) {
    const mine = sims.filter(({ poolId }) => poolId === pool.id)
    expect(pool).toMatchObject({
      totalSimCount: mine.length,
      activeSimCount: mine.filter(({ status }) => status === SimStatus.Active).length,
    })
    expect(store.now + pool.daysUntilRenewal * DAY).toBeGreaterThanOrEqual(endsAt)
    expect(store.now + (pool.daysUntilRenewal - 1) * DAY).toBeLessThan(endsAt)
  }
}

describe('simFigures and poolFigures', () => {
  test('match the history of pools and SIMs', { timeout: MOST_MS + 30_000 }, async () => {
    let steps = 0
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...POOLS),
        fc.boolean(),
        fc.array(step, { minLength: 8, maxLength: 40 }),
        async (first, renewed, history) => {
          const world = await aWorld(store, BILLING_CYCLE)
          const began = cycleAt(BILLING_CYCLE, BEGIN)
          for (const one of [...beginning(first, renewed), ...history]) {
            steps++
            const before = cycleNow(world)
            await (one.do === 'look' ? look(world, [before]) : take(world, one))
            // A cycle that was opened ahead is right from its first moment.
            if (cycleNow(world).key !== before.key) await look(world, [cycleNow(world)])
          }
          for (const cycle of [began, cycleNow(world)]) world.cycles.set(cycle.key, cycle)
          await look(world, [...world.cycles.values()])
          const used = world.lines.flatMap(({ records }) => records).reduce((sum, { bytes }) => sum + bytes, 0)
          const ledger = await world.harness.ledger()
          expect(ledger.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(used)
        },
      ),
      {
        numRuns: RUNS,
        interruptAfterTimeLimit: MOST_MS,
        examples: [
          [0, false, LATE],
          [0, false, AHEAD],
          [0, false, MOVED],
        ],
      },
    )
    expect(steps).toBeGreaterThan(0)
  })
})
