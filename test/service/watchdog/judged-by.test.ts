/** By which row, limit, mode and threshold a SIM and a pool are judged. */
import { describe, expect, test } from 'vitest'
import { TariffType, TicketType, WatchdogMode } from '../../../domain/codes.ts'
import { MB } from '../../../domain/units.ts'
import { simEnforcement } from '../../../service/enforcement/read-enforcement.ts'
import { readSim } from '../../../service/sims/rows/sim-reads.ts'
import { asShipped, aWorld, firesOn, OVERAGE, only, WARNED, type World } from './alert-world.ts'

const CYCLE = '2026-11'
const { 'Dynamic Pool': Dynamic, 'Fixed Pool': Fixed, Standard } = TariffType
const { Monitor, Enforce } = WatchdogMode
const move = (world: World, simId: number, poolId: number) =>
  world.complete({ simId, type: TicketType.Provision, cause: { by: 'month-end', cycle: '2026-10' }, poolId })
const shown = (world: World, id: number) =>
  world.asTenant(async (tx) => {
    const found = await readSim(tx, { by: 'id', id })
    if (found === undefined) throw new Error('there is no SIM')
    return found.sim
  })
describe('a SIM that has moved out of a pool that is over', () => {
  test('is not judged by what it used there', async () => {
    const world = await aWorld({ rules: OVERAGE, tariff: Dynamic })
    const own = await world.poolOf('own', Standard, Enforce)
    await world.use(world.sim, 150)
    await move(world, world.sim, own)
    await world.use(world.sim, 1)
    const before = [await world.alerts(), await world.signals(), (await shown(world, world.sim)).overageMB]
    await world.use(world.sim, 100)

    expect(before).toEqual([[], [], 50])
    expect(await world.notices()).toMatchObject([{ facts: { usageMB: 101, limitMB: 100, overageMB: 1 } }])
    expect(await world.signals()).toEqual(['overLimit'])
  })

  test('has an alert of that pool resolved, and comes back', async () => {
    const world = await aWorld({ rules: OVERAGE })
    const other = await world.poolOf('other', Standard, Enforce)
    await world.use(world.sim, 101)
    await move(world, world.sim, other)
    await world.evaluate()

    expect(await world.alerts()).toMatchObject([{ firing: false }])
    expect((await world.signals()).filter((signal) => signal !== 'personActed')).toEqual(['overLimit', 'cleared'])
  })

  test('has all that it used in the cycle in usageCycleMB, and its messages', async () => {
    const rules = only({
      'sim-usage-warning': (rule) => {
        rule.conditions = {
          all: [
            { fact: 'usageCycleMB', operator: 'greaterThan', value: 150 },
            { fact: 'usageMB', operator: 'lessThan', value: 10 },
            { fact: 'smsCount', operator: 'equal', value: 3 },
          ],
        }
        rule.examples = [
          { fires: true, facts: { usageCycleMB: 151, usageMB: 1, smsCount: 3 } },
          { fires: false, facts: { usageCycleMB: 150, usageMB: 1, smsCount: 3 } },
        ]
      },
    })
    const world = await aWorld({ rules, tariff: Dynamic })
    const other = await world.poolOf('other', Standard, Monitor)
    await world.record([world.usage(world.sim, { bytesDown: 150 * MB, smsCount: 2 })])
    await move(world, world.sim, other)
    await world.record([world.usage(world.sim, { bytesDown: MB, smsCount: 1 })])
    await world.evaluate()

    expect(await world.logged()).toEqual([WARNED])
  })

  test('is not over for a run that a person has started', async () => {
    const world = await aWorld({ rules: only({ 'pool-usage-warning': asShipped }), tariff: Dynamic })
    const other = await world.poolOf('other', Standard, Enforce)
    await world.use(world.sim, 150)
    const isOver = async () => (await world.asTenant((tx) => simEnforcement(tx, world.sim, CYCLE, null))).overLimit
    const before = await isOver()
    await move(world, world.sim, other)

    expect([before, await isOver()]).toEqual([true, false])
  })
})

describe('a Fixed pool without SIMs', () => {
  test('has its capacity, and 0 % of it used', async () => {
    const empties = firesOn({ fact: 'usagePct', operator: 'lessThan', value: 1 }, [0, null])
    const rules = only({ 'pool-usage-warning': empties })
    const world = await aWorld({ rules, tariff: Fixed, sims: 0 })
    const before = await world.notices()
    world.store.now = Date.UTC(2026, 11, 1)
    await world.evaluate()

    const empty = { facts: { usageMB: 0, limitMB: 100, usagePct: 0, overageMB: 0 } }
    expect(before).toMatchObject([empty])
    expect(await world.notices()).toMatchObject([empty, empty])
  })

  test('has them for a SIM in it that never was Active in the cycle', async () => {
    const unused = firesOn({ fact: 'poolUsagePct', operator: 'equal', value: 0 }, [0, null])
    const rules = only({ 'sim-usage-warning': unused })
    const world = await aWorld({ rules, tariff: Fixed, sims: 0 })
    const [simId = 0] = await world.unprovisioned(1)
    await world.complete({ simId, type: TicketType.Provision, poolId: world.poolId })
    world.store.now = Date.UTC(2026, 11, 1)
    await world.evaluate()

    expect((await world.log()).map(({ key }) => key)).toContain(`sim-usage-warning/sim/${simId}/2026-12/fired`)
  })
})

describe('a threshold of a shared pool', () => {
  const rules = only({ 'sim-usage-warning': asShipped, 'pool-usage-warning': asShipped })

  test.each([
    ['Dynamic', Dynamic, 85],
    ['Fixed', Fixed, 17],
  ])('warns of no SIM in a %s pool', async (_name, tariff, megabytes) => {
    const world = await aWorld({ rules, tariff, sims: 5 })
    await world.use(world.sim, megabytes)
    const before = [await world.alerts(), (await shown(world, world.sim)).warningThresholdPct]
    await world.set({ warningThresholdPct: 80 })
    await world.evaluate()

    expect(before).toEqual([[], null])
    expect(await world.logged()).toEqual([WARNED])
    expect((await shown(world, world.sim)).warningThresholdPct).toBe(80)
  })

  test('is the SIMs’ in a Standard pool', async () => {
    const world = await aWorld({ rules, sims: 5 })
    await world.use(world.sim, 85)

    expect(await world.logged()).toEqual([WARNED])
    expect((await shown(world, world.sim)).warningThresholdPct).toBe(80)
  })
})
