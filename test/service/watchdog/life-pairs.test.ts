/** Every change of the rules after every other, while an alert fires: no ghost, no second mail, nothing in the wrong log. */
import { describe, expect, test } from 'vitest'
import { rollBackRules } from '../../../service/rules/rule-versions.ts'
import { rulesInForce } from '../../../service/rules/rules-in-force.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { aStore } from '../../setup/estate.ts'
import { asShipped, aWorld, type Edit, firesOn, inStage, only, type World, withParams } from './alert-world.ts'

const RULE = 'sim-overage'
const BY = { author: 'Ann' }
const store = await aStore()

const withRule = (edit: Edit) => only({ [RULE]: edit, 'sim-silent': asShipped })
const SHIPPED = withRule(asShipped)
const REWORDED = withRule(withParams({ message: 'SIM {{iccid}}: {{overageMB}} MB over.' }))
const UNMET = withRule(firesOn({ fact: 'overageMB', operator: 'greaterThan', value: 500 }, [501, 500]))
const WITHOUT = only({ 'sim-silent': asShipped })

/** What an operator can do to the rules. What does not fit how they are is refused, and changes nothing. */
const CHANGES: Readonly<Record<string, (world: World) => Promise<unknown>>> = {
  'load them as shipped': ({ put }) => put(SHIPPED),
  'edit a message': ({ put }) => put(REWORDED),
  'edit a threshold': ({ put }) => put(UNMET),
  'remove the rule': ({ put }) => put(WITHOUT),
  'roll back': () => inPlatform(store, (tx) => rollBackRules(tx, undefined, BY)),
  'lower its stage to log': ({ put }) => put(withRule(inStage('log'))),
  'lower its stage to shadow': ({ put }) => put(withRule(inStage('shadow'))),
  'switch off': ({ put }) => put(withRule(inStage('off'))),
}

async function change(world: World, what: string): Promise<void> {
  await CHANGES[what]?.(world).catch((error: { code?: string }) => {
    if (error.code !== 'no_earlier_rules') throw error
  })
  for (let n = 0; n < 2; n += 1) {
    await world.wait(60_000)
  }
}

/** What the rule may do now, and whether its conditions hold. */
async function inForce() {
  const { rules } = await inPlatform(store, rulesInForce())
  const rule = rules.find(({ name }) => name === RULE)
  const holds = rule !== undefined && !JSON.stringify(rule.conditions).includes('500')
  return { stage: rule?.event.params.stage ?? 'off', holds }
}

/** The first telling of a kind, not that of a return. */
const countOf = (keys: readonly string[], kind: string) =>
  keys.filter((key) => key.endsWith(`/${kind}`) && !isReturn(key)).length
const isReturn = (key: string) => key.includes('/again-')
const returnsIn = (keys: readonly string[]) => keys.filter((key) => isReturn(key) && key.endsWith('/fired')).length

/** What was told until now. */
const toldBy = async (world: World) => ({ logged: await world.logged(), mailed: await world.mailed() })
type Told = Awaited<ReturnType<typeof toldBy>>

async function check(world: World, before: Told, said: string): Promise<void> {
  const { stage, holds } = await inForce()
  const firing = (await world.alerts()).filter((alert) => alert.firing).map(({ rule }) => rule)
  const { logged, mailed } = await toldBy(world)
  const told = logged.slice(before.logged.length)

  // No ghost, and what holds does fire.
  expect(firing, said).toEqual(holds && stage !== 'off' ? [RULE] : [])
  // Nothing in the wrong log.
  if (stage === 'shadow' || stage === 'off') expect(countOf(told, 'fired') + returnsIn(told), said).toBe(0)
  if (stage === 'log') expect(before.mailed, said).toEqual(expect.arrayContaining(mailed))
  // Told once: a return is told only of what was said to have ended.
  expect(countOf(logged, 'fired'), said).toBeLessThanOrEqual(1)
  expect(returnsIn(logged), said).toBeLessThanOrEqual(logged.filter((key) => key.endsWith('/resolved')).length)
  expect(new Set(mailed).size, said).toBe(mailed.length)
  // And whatever may be told is.
  if (firing.length > 0 && stage !== 'shadow') expect(countOf(logged, 'fired'), said).toBe(1)
  if (firing.length > 0 && stage === 'enforce')
    expect(countOf(mailed, 'fired') + returnsIn(mailed), said).toBeGreaterThan(0)
}

describe.each(Object.keys(CHANGES))('after "%s"', (first) => {
  test.each(Object.keys(CHANGES))('%s', async (second) => {
    const world = await aWorld({ rules: SHIPPED, store })
    await world.use(world.sim, 101)
    for (const what of [first, second]) {
      const before = await toldBy(world)
      await change(world, what)
      await check(world, before, `${first}, then ${second}: after "${what}"`)
    }
  })
})
