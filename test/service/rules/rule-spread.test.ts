/** How a change of the rules reaches the tenants, though every process dies on the way. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { activateRuleVersion, pushRules, rollBackRules } from '../../../service/rules/rule-versions.ts'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import { sweepSubjects } from '../../../service/watchdog/sweep-subjects.ts'
import { countHeard } from '../../../store/rule-spreads.ts'
import { tenantsToSweep } from '../../../store/shards.ts'
import { inPlatform, inTenant, type Store } from '../../../store/tenancy.ts'
import { aStore, aTenant } from '../../setup/estate.ts'
import { evaluationOptions, watch } from '../harness.ts'
import { asShipped, only } from '../watchdog/alert-world.ts'

const RULE = 'sim-overage'
const BY = { author: 'Ann' }
const WITH = only({ [RULE]: asShipped, 'sim-silent': asShipped })
const WITHOUT = only({ 'sim-silent': asShipped })
const options = evaluationOptions()

/** Changes by a process that dies with its first job. */
const CHANGES: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  'a load': (store) => activateRules(store, WITHOUT, 'Ann'),
  'an activation': async (store) => activateRuleVersion(store, (await pushRules(store, WITHOUT, BY)).version, BY),
  'a rollback': (store) => inPlatform(store, (tx) => rollBackRules(tx, undefined, BY)),
}

/** Three tenants that go by the rule, after others that did not have it. */
async function threeTenants() {
  const store = await aStore()
  await activateRules(store, WITHOUT, 'Ann')
  await activateRules(store, WITH, 'Ann')
  const tenants = [await aTenant(store), await aTenant(store), await aTenant(store)]
  for (const tenantId of tenants) await watch(store, options, tenantId)
  const ofEach = <T>(query: (tenantId: string) => Promise<T>) => Promise.all(tenants.map(query))
  const read = async <T>(tenantId: string, query: ReturnType<typeof sql<T>>) =>
    (await inTenant(store, tenantId, (tx) => query.execute(tx.q))).rows
  return {
    store,
    tenants,
    told: () =>
      ofEach((tenantId) =>
        read(
          tenantId,
          sql<{ said: string }>`select description as said from events where title = 'Watchdog rules changed'`,
        ),
      ),
    /** How often a look at every subject was asked for. */
    asked: () =>
      ofEach(
        async (tenantId) =>
          (await read(tenantId, sql<{ asked: number }>`select min(asked) as asked from watch_shards`))[0]?.asked,
      ),
  }
}

const killed = Object.assign(new Error('killed'), { code: '57P01' })
const dies = () => {
  throw killed
}

describe.each(Object.keys(CHANGES))('%s', (name) => {
  test('reaches each tenant once, whatever dies on the way', async () => {
    const { store, tenants, told, asked } = await threeTenants()
    const [first = '', ...others] = tenants
    const mortal = { ...store, clock: store.clock, enqueue: dies }
    const before = await asked()

    await CHANGES[name]?.(mortal).catch((error: unknown) => expect(error).toBe(killed))
    const heard = [await inPlatform(store, countHeard)]
    const due = await inPlatform(store, tenantsToSweep)
    // Before its commit, and right after it.
    await expect(sweepSubjects(store, { ...options, rules: dies }, first)).rejects.toBe(killed)
    const halfway = await told()
    await expect(sweepSubjects(mortal, options, first)).rejects.toBe(killed)
    heard.push(await inPlatform(store, countHeard))
    // Two workers at once.
    await Promise.all(tenants.flatMap((tenantId) => [watch(store, options, tenantId), watch(store, options, tenantId)]))
    heard.push(await inPlatform(store, countHeard))

    expect(due.toSorted()).toEqual(tenants.toSorted())
    expect(halfway).toEqual([[], [], []])
    expect(heard.map(({ tenants: n, of }) => [n, of])).toEqual([
      [0, 3],
      [1, 3],
      [3, 3],
    ])
    const said = [{ said: expect.stringContaining(`${RULE} is gone.`) }]
    expect(await told()).toEqual([said, ...others.map(() => said)])
    expect(await asked()).toEqual(before.map((one) => Number(one) + 1))
    expect(await inPlatform(store, tenantsToSweep)).toEqual([])
  })
})

test('a tenant that was away hears of all changes, in their order', async () => {
  const { store, tenants, told } = await threeTenants()
  const [first = ''] = tenants
  await activateRules(store, WITHOUT, 'Ann')
  await activateRules(store, WITH, 'Ann')
  await watch(store, options, first)

  expect((await told())[0]?.map(({ said }) => said.replace(/^.*: /, ''))).toEqual([
    `${RULE} is gone.`,
    `${RULE} is new.`,
  ])
})

test('a new tenant hears nothing of what was before it', async () => {
  const { store, told } = await threeTenants()

  expect(await told()).toEqual([[], [], []])
  expect(await inPlatform(store, countHeard)).toEqual({ tenants: 3, of: 3 })
})
