/** A rule whose file gets another stage while its alert fires. */
import { expect, test } from 'vitest'
import { aWorld, inStage, only } from '../watchdog/alert-world.ts'

const inFile = (stage: string) => only({ 'sim-overage': inStage(stage) })

async function aStagedWorld(stage: string) {
  const world = await aWorld({ rules: inFile(stage) })
  const settle = async () => {
    world.store.now += 60_000
    await world.evaluate()
    await world.evaluate()
  }
  return {
    ...world,
    settle,
    set: async (to: string) => {
      await world.put(inFile(to))
      await settle()
    },
  }
}

test('a higher stage tells what still fires, once on each channel', async () => {
  const world = await aStagedWorld('shadow')
  await world.use(world.sim, 101)
  const fired = ['sim-overage/sim/2026-11/fired']
  const came = async () => [await world.logged(), await world.mailed(), await world.signals()]
  const steps = [await came()]
  for (const stage of ['log', 'notify', 'enforce'] as const) {
    await world.set(stage)
    steps.push((await came()).map((keys) => keys.filter((key) => !key.includes('wouldSuspend'))))
  }

  expect(steps).toEqual([
    [[], [], []],
    [fired, [], []],
    [fired, fired, []],
    [fired, fired, ['overLimit']],
  ])
})

test('stage off withdraws what fires, once', async () => {
  const world = await aStagedWorld('enforce')
  await world.use(world.sim, 101)
  await world.set('off')
  await world.settle()

  expect((await world.logged()).filter((key) => key.endsWith('withdrawn'))).toHaveLength(1)
  expect((await world.alerts()).filter(({ firing }) => firing)).toEqual([])
  expect(await world.signals()).toEqual(['overLimit', 'standDown'])
})
