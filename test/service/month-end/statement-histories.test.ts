import fc from 'fast-check'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { type Cycle, cycleAt, nextCycle } from '../../../domain/time/cycle.ts'
import { closeCycle } from '../../../service/month-end/close-cycle.ts'
import { planMonthEnd } from '../../../service/month-end/plan-month-end.ts'
import { pageOfLines, type StatementLine, statementTotals } from '../../../service/month-end/rows/statements.ts'
import { cases } from '../../setup/cases.ts'
import { aStore } from '../../setup/estate.ts'
import {
  aheads,
  aWorld,
  BEGIN,
  cycleNow,
  type Step as LifeStep,
  POOLS,
  stepsOf,
  take,
  type World,
} from '../usage/figure-world.ts'
import { charge, total } from './october.ts'
import { closeInSlices, type Slices } from './sliced-close.ts'
import { AMOUNTS, chargeOf, type Figures, figures, hasAmounts, statementOf } from './statement-model.ts'

const BILLING_CYCLE = 'P10D'
/** Number of histories. They need a tenth of `MOST_MS`; the rest is for shrinking a failure. */
const RUNS = cases(40)
const MOST_MS = 120_000 + RUNS * 8000
const store = await aStore(new Date(BEGIN).toISOString())

type Step = LifeStep | { readonly do: 'close' } | ({ readonly do: 'close in slices' } & Slices)
const { lives, usage } = stepsOf(35 * 24)
/** Mostly for the cycle that is being closed. */
const lateUsage = fc
  .tuple(usage, fc.integer({ min: 1, max: 14 * 24 }))
  .map(([step, hoursAgo]): LifeStep => ('hoursAgo' in step ? { ...step, hoursAgo } : step))
const slices: fc.Arbitrary<Slices> = fc.record({
  rows: fc.integer({ min: 1, max: 4 }),
  between: fc.array(fc.oneof({ weight: 3, arbitrary: lateUsage }, { weight: 2, arbitrary: lives }), {
    minLength: 3,
    maxLength: 8,
  }),
  killed: fc.uniqueArray(fc.nat(8), { maxLength: 2 }),
})
const anyPool = fc.constantFrom(...POOLS)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 10, arbitrary: lives },
  { weight: 9, arbitrary: usage },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('make' as const, 'delete' as const), pool: anyPool }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('wait' as const), days: fc.integer({ min: 1, max: 9 }) }) },
  { weight: 2, arbitrary: fc.constant({ do: 'close' as const }) },
  { weight: 4, arbitrary: slices.map((how) => ({ do: 'close in slices' as const, ...how })) },
  { weight: 2, arbitrary: aheads },
)
/** Gives a history something to state: a pool over its capacity in a closed cycle, and a late record for it. */
const beginning = (pool: number): Step[] => [
  { do: 'make', pool },
  ...[0, 1].flatMap((sim): Step[] => [
    { do: 'provision', sim, pool, own: null },
    { do: 'activate', sim, boundary: false },
  ]),
  { do: 'use', sim: 0, bytes: 2501, voiceSeconds: 7, smsCount: 3, hoursAgo: 0, again: false },
  { do: 'use', sim: 1, bytes: 777, hoursAgo: 0, again: false },
  { do: 'wait', days: 9 },
  { do: 'close' },
  { do: 'use', sim: 1, bytes: 500, voiceSeconds: 31, smsCount: 1, hoursAgo: 9 * 24, again: true },
]

const late = (sim: number, bytes: number, daysAgo: number): LifeStep => {
  return { do: 'use', sim, bytes, hoursAgo: daysAgo * 24, again: false }
}
const TURN: Step[] = [{ do: 'wait', days: 10 }, { do: 'close' }]
/** Histories that random steps hardly ever produce. */
const AWAY: Step[] = [
  { do: 'suspend', sim: 0, by: 'watchdog' },
  { do: 'wait', days: 10 },
  { do: 'make', pool: 1 },
]
const AWAY_TO_1: Step = { do: 'move', sim: 0, pool: 1, own: null, since: 'now' }
const RARE: [number, Step[]][] = [
  // A SIM moves while it waits to be brought back: it contributes there too. Then a person suspends it first: it does not.
  [0, [...AWAY, { do: 'wait', days: 1 }, AWAY_TO_1, ...TURN]],
  [0, [...AWAY, { do: 'suspend', sim: 0, by: 'user' }, { do: 'wait', days: 1 }, AWAY_TO_1, ...TURN]],
  // Two SIMs of a Fixed pool with the same excess of an odd number of bytes; then one more batch for the same cycle.
  [2, [late(1, 1224, 9), ...TURN, late(1, 10, 19), ...TURN, late(0, 3, 39)]],
  // Late usage that a correction takes back leaves no line.
  [0, [...TURN, late(1, 5, 19), { do: 'correct', sim: 1, bytes: -5, hoursAgo: 19 * 24 }, ...TURN]],
  // A change is applied late: it moves a SIM in a closed cycle, into a pool that had no cost in that cycle.
  [0, [...TURN, { do: 'make', pool: 2 }, { do: 'move', sim: 0, pool: 2, own: null, since: 'boundary before' }]],
  // From a boundary on, one SIM has a tariff of its own, and one outside pools is unassigned.
  [
    0,
    [
      { do: 'provision', sim: 2, pool: null, own: 3 },
      { do: 'activate', sim: 2, boundary: false },
      ...TURN,
      { do: 'move', sim: 0, pool: null, own: 3, since: 'boundary' },
      { do: 'unassign', sim: 2, boundary: true },
      ...TURN,
    ],
  ],
  // A bucket costs as long as its pool exists, used or not.
  [0, [{ do: 'make', pool: 2 }, ...TURN, { do: 'delete', pool: 2 }, ...TURN]],
]

/** Usage of the ended cycle and of the one before, whenever the close comes: some of it behind the slices. */
const BEHIND: Slices = {
  rows: 1,
  between: [2, 6, 9, 12].flatMap((days) => [late(0, 11, days), late(1, 13, days)]),
  killed: [0, 2],
}

/** The statements written so far. */
interface Statements {
  /** Closed cycles, the oldest first. */
  readonly closed: Cycle[]
  /** Each cycle's statement as it was first written. */
  readonly written: Map<string, string>
  /** All lines of all statements. */
  readonly lines: StatementLine[]
}

const linesOf = async (world: World, key: string) =>
  (await world.harness.asTenant((tx) => pageOfLines(tx, key, { afterLine: 0, limit: 10_000 }))).lines
const rawStatement = async (world: World, key: string) =>
  JSON.stringify(await world.harness.rows(sql`select s::text from statements s where cycle_key = ${key} order by id`))

/** Lines added up by pool and SIM. */
function addedUp(lines: readonly (StatementLine | Figures)[]): Figures[] {
  const sums = new Map<string, Figures>()
  for (const line of lines.map(figures)) {
    const key = `${line.poolId}/${line.simId}`
    const before = sums.get(key)
    const amounts = AMOUNTS.map((name) => [name, (before?.[name] ?? 0n) + line[name]] as const)
    sums.set(key, { ...line, ...(Object.fromEntries(amounts) as Partial<Figures>) })
  }
  return [...sums.values()].filter(hasAmounts).sort((a, b) => a.poolId - b.poolId || (a.simId ?? 0) - (b.simId ?? 0))
}

/** A SIM whose share alone changes gets no adjustment: shares are compared in the first statement, and for pools. */
const withoutShares = (lines: readonly Figures[]) =>
  lines
    .map((line) => (line.simId === null ? line : { ...line, limitBytes: 0n }))
    .filter((line) => line.simId === null || hasAmounts(line))

/** @param slices how; undefined: in one transaction */
async function close(world: World, statements: Statements, cycle: Cycle, slices?: Slices): Promise<void> {
  const plan = slices === undefined ? await world.harness.asTenant((tx) => planMonthEnd(tx, cycle.key)) : undefined
  if (slices === undefined) await world.harness.asTenant((tx) => closeCycle(tx, cycle.key))
  else await closeInSlices(world, cycle, slices)

  const lines = (await linesOf(world, cycle.key)).filter(({ kind }) => kind !== 'empty')
  const own = lines.filter(({ kind }) => kind !== 'adjustment')
  const adjustments = lines.filter(({ kind }) => kind === 'adjustment')
  const where = `the statement of ${cycle.key}`
  expect(own, where).toEqual(own.toSorted((a, b) => a.poolId - b.poolId || (a.simId ?? 0) - (b.simId ?? 0)))
  expect(lines, where).toEqual([...own, ...adjustments])
  for (const { poolId, bytes, overageBytes } of own.filter(({ kind }) => kind === 'pool')) {
    const sims = own.filter((line) => line.poolId === poolId && line.kind === 'sim')
    expect({ bytes, overageBytes }, `pool ${poolId} in ${where}`).toEqual({
      bytes: total(sims, (line) => line.bytes),
      overageBytes: total(sims, (line) => line.overageBytes),
    })
  }
  const totals = await world.harness.asTenant((tx) => statementTotals(tx, cycle.key))
  expect(totals, where).toEqual({ lines: lines.length, totalMicro: total(lines, charge) })
  if (slices === undefined) {
    expect(own.map(figures).filter(hasAmounts), where).toEqual(statementOf(world, cycle).filter(hasAmounts))
    expect(BigInt(total(own, charge)), where).toBe(
      statementOf(world, cycle).reduce((sum, line) => sum + chargeOf(line), 0n),
    )
  }

  statements.closed.push(cycle)
  statements.written.set(cycle.key, await rawStatement(world, cycle.key))
  statements.lines.push(...adjustments, ...own.map((line) => ({ ...line, adjusts: cycle.key })))
  // What has changed since is marked. All else is as the model has it now.
  const marks = await world.harness.rows(
    sql<{ cycle: string; poolId: number }>`select cycle_key as cycle, pool_id as "poolId" from restatements`,
  )
  if (slices === undefined) expect(marks).toEqual([])
  for (const each of statements.closed) {
    const isSettled = ({ poolId }: Figures) => !marks.some((mark) => mark.cycle === each.key && mark.poolId === poolId)
    const linesOfCycle = statements.lines.filter(({ adjusts }) => adjusts === each.key)
    expect(
      withoutShares(addedUp(linesOfCycle)).filter(isSettled),
      `all lines about ${each.key} in the statements up to ${cycle.key}`,
    ).toEqual(withoutShares(addedUp(statementOf(world, each))).filter(isSettled))
  }
  const ids = adjustments.map(({ adjusts, poolId, simId }) => `${adjusts}/${poolId}/${simId}`)
  expect(new Set(ids).size, 'one adjustment of a SIM, pool and cycle').toBe(ids.length)
  expect(adjustments.filter((line) => !hasAmounts(figures(line)))).toEqual([])

  if (plan === undefined) return
  const sims = own.filter(({ kind }) => kind === 'sim')
  expect(plan, `the plan of ${cycle.key}`).toMatchObject({
    statement: lines.length > 0,
    totals: {
      lines: lines.length,
      usageBytes: total(sims, ({ bytes }) => bytes),
      voiceSeconds: total(sims, ({ voiceSeconds }) => voiceSeconds),
      smsCount: total(sims, ({ smsCount }) => smsCount),
      overageBytes: total(sims, ({ overageBytes }) => overageBytes),
      feeMicro: total(own, ({ feeMicro }) => feeMicro),
      smsMicro: total(own, ({ smsMicro }) => smsMicro),
      voiceMicro: total(own, ({ voiceMicro }) => voiceMicro),
      overageMicro: total(own, ({ overageMicro }) => overageMicro),
      adjustmentsMicro: total(adjustments, charge),
      totalMicro: total(lines, charge),
    },
    adjustments: {
      first: [...Map.groupBy(adjustments, ({ adjusts }) => adjusts)].map(([adjusts, all]) => ({
        cycle: adjusts,
        lines: all.length,
        totalMicro: total(all, charge),
      })),
    },
  })
}

/** Closes every cycle that has ended and is not closed, the oldest first. */
async function closeEnded(world: World, statements: Statements, slices?: Slices): Promise<void> {
  const last = statements.closed.at(-1)
  let cycle = last === undefined ? cycleAt(BILLING_CYCLE, BEGIN) : nextCycle(BILLING_CYCLE, last)
  for (; cycle.endsAt <= store.now; cycle = nextCycle(BILLING_CYCLE, cycle))
    await close(world, statements, cycle, slices)
}

describe('statements and their adjustments', () => {
  test('match the records and never change', { timeout: MOST_MS + 60_000 }, async () => {
    let adjusted = 0
    await fc.assert(
      fc.asyncProperty(
        anyPool,
        fc.array(step, { minLength: 8, maxLength: 35 }),
        slices,
        async (first, history, last) => {
          const world = await aWorld(store, BILLING_CYCLE, [])
          const statements: Statements = { closed: [], written: new Map(), lines: [] }
          for (const one of [...beginning(first), ...history]) {
            if (one.do === 'close') await closeEnded(world, statements)
            else if (one.do === 'close in slices') await closeEnded(world, statements, one)
            else await take(world, one)
          }
          // Twice more: the second statement has the adjustments for what came after the lines of the first.
          for (const how of [last, undefined, undefined]) {
            await take(world, { do: 'wait', days: 10 })
            await closeEnded(world, statements, how)
          }
          expect(await world.harness.rows(sql`select 1 from restatements`)).toEqual([])
          for (const [key, written] of statements.written) expect(await rawStatement(world, key), key).toBe(written)
          for (const cycle of world.cycles.values()) {
            if (cycle.endsAt <= cycleNow(world).startsAt && cycle.startsAt >= cycleAt(BILLING_CYCLE, BEGIN).startsAt)
              expect(statements.written.has(cycle.key), `${cycle.key} is closed`).toBe(true)
          }
          adjusted += statements.lines.filter(({ kind }) => kind === 'adjustment').length
        },
      ),
      {
        numRuns: RUNS,
        interruptAfterTimeLimit: MOST_MS,
        examples: RARE.map(([pool, history]) => [pool, history, BEHIND]),
      },
    )
    expect(adjusted, 'adjustment lines of all histories').toBeGreaterThan(RUNS)
  })
})
