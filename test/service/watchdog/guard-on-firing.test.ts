/** How many subjects a rule begins to tell of in an hour, and what becomes of the rest. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { WatchdogMode } from '../../../domain/codes.ts'
import type { EnforcementChange } from '../../../domain/enforcement/guard.ts'
import { MB } from '../../../domain/units.ts'
import { changeEnforcement } from '../../../service/enforcement/change-enforcement.ts'
import { decideHold } from '../../../service/enforcement/decide-hold.ts'
import { pageOfHolds } from '../../../service/enforcement/rows/guard.ts'
import { evaluateAll } from '../../../service/watchdog/evaluate-all.ts'
import { aWorld, firesOn, inStage, OVERAGE, only, WARNING, type WorldOptions, withParams } from './alert-world.ts'

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000]
const THREE = { alertGuardLeast: 3, alertGuardPct: 0 }

async function aGuardedWorld(options: Partial<WorldOptions> & { limits?: EnforcementChange } = {}) {
  const { limits = THREE, ...rest } = options
  const world = await aWorld({ rules: OVERAGE, sims: 8, ...rest })
  await world.asTenant((tx) => changeEnforcement(tx, limits))
  const record = async (simIds: readonly number[], megabytes: number) => {
    const bytes = { bytesDown: Math.round(megabytes * MB), ...(megabytes < 0 ? { correction: true } : {}) }
    await world.record(simIds.map((simId) => world.usage(simId, bytes)))
    world.store.now += MINUTE
  }
  const holds = async () => (await world.asTenant((tx) => pageOfHolds(tx, {}))).data
  /** Decides the newest hold. */
  const decide = async (decision: 'released' | 'discarded') => {
    const [hold] = await holds()
    const answer = await world.asTenant((tx) => decideHold(tx, hold?.id ?? 0, decision))
    await world.evaluate()
    return answer
  }
  const aboutSims = (keys: readonly string[]) => keys.filter((key) => !key.startsWith('guard/'))
  return {
    ...world,
    record,
    useAll: async (simIds: readonly number[], megabytes: number) => {
      await record(simIds, megabytes)
      await world.evaluate()
    },
    holds,
    decide,
    /** Keys of notices and of log entries about SIMs. */
    noticed: async () => aboutSims(await world.mailed()),
    entered: async () => aboutSims(await world.logged()),
    asked: async () => (await world.signals()).filter((signal) => signal === 'overLimit').length,
  }
}

describe('a rule that fires on many subjects at once', () => {
  test('is told of 50, and of the other 250 when they are released', async () => {
    const world = await aGuardedWorld({
      rules: WARNING,
      sims: 300,
      limits: { alertGuardLeast: 50, alertGuardPct: 2 },
    })

    await world.useAll(world.sims, 85)
    const [before, holds, notices] = [await world.noticed(), await world.holds(), await world.notices()]
    const answer = await world.decide('released')
    await world.evaluate()

    expect(before).toHaveLength(50)
    expect(await world.entered()).toHaveLength(300)
    expect(holds).toMatchObject([
      { what: 'alerts', rule: 'sim-usage-warning', state: 'held', allowed: 50, waiting: 250 },
    ])
    expect(notices.filter(({ key }) => key.startsWith('guard/'))).toMatchObject([
      { level: 2, message: expect.stringContaining('Decision needed: 250 alerts of rule sim-usage-warning held. ') },
    ])
    expect(answer).toMatchObject({ state: 'released', decided: 250 })
    expect(await world.noticed()).toHaveLength(300)
    expect(await world.holds()).toMatchObject([{ state: 'released', waiting: 250 }])
  })

  test('suspends no more than it tells of', async () => {
    const world = await aGuardedWorld()

    await world.useAll(world.sims, 101)
    const before = [await world.noticed(), await world.asked()] as const
    await world.decide('released')

    expect(before[0]).toHaveLength(3)
    expect(before[1]).toBe(3)
    expect(await world.noticed()).toHaveLength(8)
    expect(await world.asked()).toBe(8)
  })

  test('is held when its stage is raised', async () => {
    const world = await aGuardedWorld({ rules: only({ 'sim-overage': inStage('shadow') }) })
    await world.useAll(world.sims, 101)
    const before = [await world.noticed(), await world.holds()]

    await world.put(OVERAGE)
    await world.evaluate()

    expect(before).toEqual([[], []])
    expect(await world.noticed()).toHaveLength(3)
    expect(await world.asked()).toBe(3)
    expect(await world.holds()).toMatchObject([{ waiting: 5 }])
  })

  test('is held when an edit makes it fire', async () => {
    const above = (value: number) => {
      const leaf = { fact: 'usagePct', operator: 'greaterThan', value }
      return only({ 'sim-usage-warning': firesOn(leaf, [value + 1, value]) })
    }
    const world = await aGuardedWorld({ rules: above(50) })
    await world.useAll(world.sims, 40)

    await world.put(above(30))
    await world.evaluate()

    expect(await world.noticed()).toHaveLength(3)
    expect(await world.holds()).toMatchObject([{ waiting: 5 }])
  })

  test('tells of 2 % of the SIMs where that is more', async () => {
    const world = await aGuardedWorld({ limits: { alertGuardLeast: 1, alertGuardPct: 50 } })

    await world.useAll(world.sims, 101)

    expect(await world.noticed()).toHaveLength(4)
  })

  test('only holds what is told or acted on', async () => {
    const world = await aGuardedWorld({ rules: only({ 'sim-overage': inStage('log') }) })

    await world.useAll(world.sims, 101)

    expect(await world.entered()).toHaveLength(16)
    expect(await world.holds()).toEqual([])
  })

  test('goes on logging in Monitor mode what it would suspend', async () => {
    const world = await aGuardedWorld({ mode: WatchdogMode.Monitor })

    await world.useAll(world.sims, 101)

    expect((await world.entered()).filter((key) => key.includes('wouldSuspend'))).toHaveLength(8)
    expect(await world.noticed()).toHaveLength(3)
  })
})

describe('what is held', () => {
  test('is told in the end neither as fired nor as resolved', async () => {
    const resolved = only({ 'sim-usage-warning': withParams({ resolve: 'email' }) })
    const world = await aGuardedWorld({ rules: resolved })
    await world.useAll(world.sims, 85)
    await world.mailAll()
    await world.useAll(world.sims, -10)
    const { decided } = await world.decide('released')

    expect((await world.noticed()).toSorted()).toEqual([
      ...Array<string>(3).fill('sim-usage-warning/sim/2026-11/fired'),
      ...Array<string>(3).fill('sim-usage-warning/sim/2026-11/resolved'),
    ])
    expect(decided).toBe(0)
  })

  test('counts as told when it is discarded, and is asked for again when it fires again', async () => {
    const world = await aGuardedWorld()
    await world.useAll(world.sims, 101)
    await world.decide('discarded')
    await world.useAll(world.sims, 1)
    const discarded = [(await world.noticed()).length, await world.asked()]
    const alerts = await world.alerts()
    world.store.now += 2 * HOUR
    await world.useAll(world.sims, -5)
    await world.useAll(world.sims.slice(5), 10)

    expect(discarded).toEqual([3, 3])
    expect(alerts.filter(({ state }) => state.guard?.is === 'discarded')).toHaveLength(5)
    expect(await world.asked()).toBe(6)
    expect((await world.noticed()).filter((key) => key.includes('again-2'))).toHaveLength(3)
  })

  test('takes in all that follows, until a person decides', async () => {
    const world = await aGuardedWorld()
    await world.useAll(world.sims.slice(0, 5), 101)
    world.store.now += 3 * HOUR
    await world.useAll(world.sims.slice(5), 101)
    const held = await world.holds()
    await world.decide('released')
    const released = (await world.noticed()).length
    await world.useAll(world.sims.slice(0, 3), -5)
    await world.useAll(world.sims.slice(0, 3), 5)

    expect(held).toMatchObject([{ waiting: 5 }])
    expect(released).toBe(8)
    expect((await world.holds()).filter(({ state }) => state === 'held')).toEqual([])
  })

  test('is counted within the hour, over several evaluations', async () => {
    const world = await aGuardedWorld()
    const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = world.sims
    await world.useAll([a, b], 101)
    world.store.now += 40 * MINUTE
    await world.useAll([c], 101)
    const within = await world.holds()
    world.store.now += 30 * MINUTE
    await world.useAll([d], 101)
    const afterwards = await world.holds()
    const counts = await world.rows(sql<{ passed: number }>`select passed from guard_counts order by minute`)

    await world.useAll([e, f], 101)

    expect([within, afterwards]).toEqual([[], []])
    expect(counts.map(({ passed }) => passed)).toEqual([1, 1])
    expect(await world.holds()).toMatchObject([{ suspended: 3, waiting: 1 }])
  })

  test('is asked for anew when its hold has lapsed with the cycle', async () => {
    const world = await aGuardedWorld()
    await world.useAll(world.sims, 1)
    await world.awaitUsage('P20D')
    const leaf = { fact: 'hoursSinceLastSeen', operator: 'greaterThanInclusive', value: 24 }
    const clear = { all: [{ ...leaf, operator: 'lessThan' }] }
    await world.put(only({ 'sim-silent': firesOn(leaf, [24, 1], { for: 'PT0S', clear }) }))
    await world.evaluate()
    await world.wait(2 * DAY)
    const before = [(await world.noticed()).length, await world.holds()]
    await world.wait(20 * DAY)

    expect(before).toMatchObject([3, [{ state: 'held', waiting: 5 }]])
    expect(await world.noticed()).toHaveLength(6)
    expect(await world.holds()).toMatchObject([
      { state: 'held', cycle: '2026-12', waiting: 2 },
      { state: 'lapsed', waiting: 0 },
    ])
  })

  test('is told or held exactly once by workers at the same time', async () => {
    const world = await aGuardedWorld()
    await world.record(world.sims, 101)
    const subjects = world.sims.map((id) => ({ kind: 'sim' as const, id }))

    await Promise.all(
      Array.from({ length: 4 }, (_, n) => evaluateAll(world, [...subjects.slice(n), ...subjects.slice(0, n)])),
    )

    expect(await world.noticed()).toHaveLength(3)
    expect(await world.asked()).toBe(3)
    expect(await world.holds()).toMatchObject([{ waiting: 5 }])
  })

  test('is not counted while a silence holds the notice back', async () => {
    const world = await aGuardedWorld({ rules: WARNING })
    await world.silence({ rule: 'sim-usage-warning' }, 'PT2H')
    await world.useAll(world.sims, 85)
    const during = [await world.noticed(), await world.holds()]
    await world.wait(3 * HOUR)

    expect(during).toEqual([[], []])
    expect(await world.noticed()).toHaveLength(8)
    expect(await world.holds()).toEqual([])
  })
})
