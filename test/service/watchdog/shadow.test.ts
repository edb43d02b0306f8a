/** Rules in stage shadow: what they would have done is told to the operator alone. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { TariffType, WatchdogMode } from '../../../domain/codes.ts'
import { asShipped, aWorld, inStage, OVER, OVERAGE, only, WARNED, type WorldOptions } from './alert-world.ts'

const STAGED = (stage: string) => only({ 'sim-overage': inStage(stage) })

async function aShadowWorld(options: Partial<WorldOptions> = {}) {
  const world = await aWorld({ rules: STAGED('shadow'), ...options })
  return {
    ...world,
    settle: async () => {
      await world.wait(60_000)
      await world.evaluate()
    },
    /** `<what>: <key>`, without the subject's id. */
    shadowed: async () => {
      const rows = await world.rows(sql<{ does: string; key: string }>`
        select does, dedupe_key as key from shadow_log order by id`)
      return rows.map(({ does, key }) => `${does}: ${key.replace(/\/\d+(?=\/)/, '')}`)
    },
    messages: async () => {
      const rows = await world.rows(sql<{ message: string }>`select message from shadow_log where does = 'suspend'`)
      return rows.map(({ message }) => message)
    },
    /** What tenants and the carrier get. */
    earnest: async () => [
      await world.logged(),
      await world.mailed(),
      await world.signals(),
      await world.rows(sql`select 1 from would_suspend`),
      await world.rows(sql`select 1 from webhook_events`),
      await world.rows(sql`select 1 from events where title like '%sim-overage%'`),
    ],
  }
}
const FIRED = ['log', 'mail', 'suspend'].map((does) => `${does}: ${OVER}`)
const NOTHING = [[], [], [], [], [], []]

describe('a rule in shadow', () => {
  test('tells the operator once what it would have done', async () => {
    const world = await aShadowWorld()
    await world.use(world.sim, 101)
    await world.settle()
    await world.use(world.sim, 1)

    expect(await world.shadowed()).toEqual(FIRED)
    expect(await world.messages()).toEqual([expect.stringMatching(/^SIM .+ would have been suspended: SIM .+/)])
    expect(await world.earnest()).toEqual(NOTHING)
  })

  test('would not have suspended in Monitor', async () => {
    const world = await aShadowWorld({ mode: WatchdogMode.Monitor })
    await world.use(world.sim, 101)

    expect(await world.shadowed()).toEqual(FIRED.slice(0, 2))
  })

  test('says whose SIMs it would have suspended', async () => {
    const rules = only({ 'pool-overage': inStage('shadow') })
    const world = await aShadowWorld({ rules, tariff: TariffType['Dynamic Pool'] })
    await world.use(world.sim, 101)

    expect(await world.messages()).toEqual([
      expect.stringMatching(/^SIMs of pool meters, by largestExcess, would have been suspended: /),
    ])
  })

  test('tells the operator its end', async () => {
    const world = await aShadowWorld()
    await world.use(world.sim, 101)
    await world.use(world.sim, -50)

    expect(await world.shadowed()).toEqual([...FIRED, 'log: sim-overage/sim/2026-11/resolved'])
    expect(await world.earnest()).toEqual(NOTHING)
  })

  test('is withdrawn where it is switched off', async () => {
    const world = await aShadowWorld()
    await world.use(world.sim, 101)
    await world.put(STAGED('off'))
    await world.settle()

    expect(await world.shadowed()).toEqual([...FIRED, 'log: sim-overage/sim/2026-11/withdrawn'])
    expect((await world.alerts()).filter(({ firing }) => firing)).toEqual([])
    expect(await world.earnest()).toEqual(NOTHING)
  })

  test('tells once what still fires when its stage is raised', async () => {
    const world = await aShadowWorld()
    await world.use(world.sim, 101)
    const [alert] = await world.alerts()
    await world.put(OVERAGE)
    await world.settle()
    await world.put(STAGED('shadow'))
    await world.settle()
    await world.put(OVERAGE)
    await world.settle()

    expect((await world.earnest()).slice(0, 2)).toEqual([[OVER], [OVER]])
    expect((await world.notices())[0]?.since).toBe(new Date(alert?.state.began ?? 0).toISOString())
    expect(await world.shadowed()).toEqual(FIRED)
  })

  test('holds back no mail of another rule', async () => {
    const rules = only({ 'sim-overage': inStage('shadow'), 'sim-usage-warning': asShipped })
    const world = await aShadowWorld({ rules })
    await world.use(world.sim, 101)

    expect(await world.mailed()).toEqual([WARNED])
  })
})

describe('a rule that is off', () => {
  test('decides nothing', async () => {
    const world = await aShadowWorld({ rules: STAGED('off') })
    await world.use(world.sim, 101)

    expect([await world.alerts(), await world.shadowed()]).toEqual([[], []])
    expect(await world.earnest()).toEqual(NOTHING)
  })
})
