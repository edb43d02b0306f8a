/** The rules are changed while alerts fire. */
import { expect, test } from 'vitest'
import { rollBackRules } from '../../../service/rules/rule-versions.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { asShipped, aWorld, inStage, only } from '../watchdog/alert-world.ts'

const BOTH = only({ 'sim-overage': asShipped, 'sim-usage-warning': asShipped })
const WARNING = only({ 'sim-usage-warning': asShipped })

async function aFiringWorld(rules = BOTH) {
  const world = await aWorld({ rules })
  await world.use(world.sim, 101)
  const settled = async () => {
    world.store.now += 60_000
    await world.evaluate()
    await world.evaluate()
  }
  return {
    ...world,
    settled,
    load: async (files: typeof BOTH) => {
      await world.put(files)
      await settled()
    },
    rollBack: async () => {
      await inPlatform(world.store, (tx) => rollBackRules(tx, undefined, { author: 'Ann' }))
      await settled()
    },
    firing: async () => (await world.alerts()).filter(({ firing }) => firing).map(({ rule }) => rule),
  }
}

test('a rollback brings back a rule whose alert fired, and tells nothing twice', async () => {
  const world = await aFiringWorld()
  const [logged, mailed, signals] = [await world.logged(), await world.mailed(), await world.signals()]
  await world.mailAll()

  await world.load(WARNING)
  expect(await world.firing()).toEqual(['sim-usage-warning'])
  await world.rollBack()

  expect(await world.firing()).toEqual(['sim-overage', 'sim-usage-warning'])
  const more = (await world.logged()).filter((key) => !logged.includes(key))
  expect(more).toEqual(['sim-overage/sim/2026-11/withdrawn'])
  expect(await world.mailed()).toEqual(mailed)
  expect(await world.signals()).toEqual([...signals, 'standDown', 'overLimit'])
})

test('a rollback leaves no ghost of a rule that only the set before had', async () => {
  const world = await aFiringWorld(WARNING)
  await world.mailAll()
  await world.load(BOTH)
  const mailed = await world.mailed()
  await world.mailAll()
  await world.rollBack()
  await world.settled()

  expect(await world.firing()).toEqual(['sim-usage-warning'])
  expect((await world.logged()).filter((key) => key.endsWith('/withdrawn'))).toEqual([
    'sim-overage/sim/2026-11/withdrawn',
  ])
  expect(await world.mailed()).toEqual(mailed)
})

test('an edit while its alert fires tells nothing anew', async () => {
  const world = await aFiringWorld()
  const [logged, mailed] = [await world.logged(), await world.mailed()]
  await world.load(
    only({
      'sim-overage': (rule) => Object.assign(rule.event.params, { message: 'SIM {{iccid}} is over by {{overageMB}}.' }),
      'sim-usage-warning': asShipped,
    }),
  )

  expect([await world.logged(), await world.mailed()]).toEqual([logged, mailed])
  expect(await world.firing()).toEqual(['sim-overage', 'sim-usage-warning'])
})

test('a rule that is switched off is withdrawn, and says so once', async () => {
  const world = await aFiringWorld()
  const off = only({ 'sim-overage': inStage('off'), 'sim-usage-warning': asShipped })
  await world.load(off)
  await world.settled()

  expect(await world.firing()).toEqual(['sim-usage-warning'])
  const entries = (await world.log()).filter(({ key }) => key.endsWith('/withdrawn'))
  expect(entries).toMatchObject([{ message: expect.stringContaining('the rule was switched off') }])
})
