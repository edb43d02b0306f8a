/** The rules are changed while alerts fire. */
import { expect, test } from 'vitest'
import { rollBackRules } from '../../../service/rules/rule-versions.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { asShipped, aWorld, BOTH, inStage, OVER, only, WARNING, withParams } from '../watchdog/alert-world.ts'

async function aFiringWorld(rules = BOTH) {
  const world = await aWorld({ rules })
  await world.use(world.sim, 101)
  const settled = async () => {
    await world.wait(60_000)
    await world.evaluate()
  }
  return {
    ...world,
    load: async (files: typeof BOTH) => {
      await world.put(files)
      await settled()
    },
    rollBack: async () => {
      await inPlatform(world.store, (tx) => rollBackRules(tx, undefined, { author: 'Ann' }))
      await settled()
    },
    firing: async () => (await world.alerts()).filter(({ firing }) => firing).map(({ rule }) => rule),
    told: async () => [await world.logged(), await world.mailed(), await world.signals()] as const,
  }
}

test('a rollback brings back a rule whose alert fired, and tells nothing twice', async () => {
  const world = await aFiringWorld()
  const [logged, mailed, signals] = await world.told()
  await world.mailAll()

  await world.load(WARNING)
  expect(await world.firing()).toEqual(['sim-usage-warning'])
  await world.rollBack()

  expect(await world.firing()).toEqual(['sim-overage', 'sim-usage-warning'])
  expect(await world.told()).toEqual([
    [...logged, 'sim-overage/sim/2026-11/withdrawn'],
    mailed,
    [...signals, 'standDown', 'overLimit'],
  ])
})

test('a rollback leaves no ghost of a rule that only the set before had', async () => {
  const world = await aFiringWorld(WARNING)
  await world.mailAll()
  await world.load(BOTH)
  const mailed = await world.mailed()
  await world.mailAll()
  await world.rollBack()

  expect(await world.firing()).toEqual(['sim-usage-warning'])
  expect((await world.logged()).filter((key) => key.endsWith('/withdrawn'))).toEqual([
    'sim-overage/sim/2026-11/withdrawn',
  ])
  expect(await world.mailed()).toEqual(mailed)
})

test('an edit while its alert fires tells nothing anew', async () => {
  const world = await aFiringWorld()
  const told = await world.told()
  const reworded = withParams({ message: 'SIM {{iccid}} is over by {{overageMB}}.' })
  await world.load(only({ 'sim-overage': reworded, 'sim-usage-warning': asShipped }))

  expect(await world.told()).toEqual(told)
  expect(await world.firing()).toEqual(['sim-overage', 'sim-usage-warning'])
})

test('a higher stage tells what still fires, once on each channel', async () => {
  const inFile = (stage: string) => only({ 'sim-overage': inStage(stage) })
  const world = await aFiringWorld(inFile('shadow'))
  const steps = [await world.told()]
  for (const stage of ['log', 'notify', 'enforce']) {
    await world.load(inFile(stage))
    steps.push(await world.told())
  }

  expect(steps.map(([logged, ...rest]) => [logged.filter((key) => !key.includes('wouldSuspend')), ...rest])).toEqual([
    [[], [], []],
    [[OVER], [], []],
    [[OVER], [OVER], []],
    [[OVER], [OVER], ['overLimit']],
  ])
})
