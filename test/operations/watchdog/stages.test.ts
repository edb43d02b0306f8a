/** Stages that are set without a new file. */
import { expect, test } from 'vitest'
import { rulesInForce } from '../../../operations/watchdog/rules-in-force.ts'
import { setStage } from '../../../operations/watchdog/set-stage.ts'
import { STAGES, type Stage } from '../../../rules/rule-file.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { aWorld, inStage, only } from './alert-world.ts'

const RULE = 'sim-overage'
const inFile = (stage: string) => only({ [RULE]: inStage(stage) })

async function aStagedWorld(stage: Stage) {
  const world = await aWorld({ rules: inFile(stage) })
  const settle = async () => {
    world.store.now += 60_000
    await world.evaluate()
    await world.evaluate()
  }
  return {
    ...world,
    settle,
    set: async (to: Stage) => {
      await setStage(world.store, RULE, { stage: to, author: 'Ann', reason: 'a try', untested: true })
      await settle()
    },
    /** As a process that has just started has it. */
    stage: async () => (await inPlatform(world.store, rulesInForce())).rules[0]?.event.params.stage,
  }
}

test('a promotion tells what still fires, once on each channel', async () => {
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

test('a demotion to off withdraws what fires, once', async () => {
  const world = await aStagedWorld('enforce')
  await world.use(world.sim, 101)
  await world.set('off')
  await world.settle()

  expect((await world.logged()).filter((key) => key.endsWith('withdrawn'))).toHaveLength(1)
  expect((await world.alerts()).filter(({ firing }) => firing)).toEqual([])
  expect(await world.signals()).toEqual(['overLimit', 'standDown'])
})

test('a stage stays with its rule until the file says another one', async () => {
  const world = await aStagedWorld('shadow')
  await world.set('notify')
  const edited = only({
    [RULE]: (rule) => {
      inStage('shadow')(rule)
      rule.description = 'Said better.'
    },
  })
  await world.put(edited)
  expect(await world.stage()).toBe('notify')

  await world.put(inFile('log'))
  expect(await world.stage()).toBe('log')
})

test('each stage can be set, and the newest counts', async () => {
  const world = await aStagedWorld('log')
  for (const stage of STAGES) {
    await setStage(world.store, RULE, { stage, author: 'Ann', untested: true })
    expect(await world.stage()).toBe(stage)
  }
})
