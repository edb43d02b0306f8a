import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { costOfCycle } from '../../../service/month-end/cost-of-cycle.ts'
import { keptCost, renewCost } from '../../../service/month-end/keep-cost.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { aStore } from '../../setup/estate.ts'
import { heldOpen } from '../../setup/lock-waits.ts'
import { at, CLOSE, CYCLE, close, inOctober } from './october.ts'

const store = await aStore(undefined, { counted: false })
const MINUTE = 60_000

async function inUse() {
  const harness = await inOctober(store)
  const [simId = 0] = await harness.activeSims(1, { poolId: await harness.aPool() })
  store.now = at(10)
  const use = () => harness.record([harness.usage(simId, { bytesUp: 5000, at: new Date(at(10)).toISOString() })])
  await use()
  const kept = () => harness.asTenant((tx) => keptCost(tx, CYCLE))
  const renew = () => harness.asTenant((tx) => renewCost(tx, CYCLE))
  const renewal = () =>
    heldOpen(
      (work) => inTenant(store, harness.tenantId, work),
      (tx) => renewCost(tx, CYCLE),
    )
  return { harness, use, kept, renew, renewal }
}

test('renewCost keeps a cost for a minute, whatever is used', async () => {
  const { use, kept, renew } = await inUse()

  expect(await kept()).toBeUndefined()
  const first = await renew()
  await use()
  store.now += MINUTE - 1
  expect([await kept(), await renew()]).toEqual([{ cost: first, isFresh: true }, first])
  store.now += 1
  expect(await kept()).toEqual({ cost: first, isFresh: false })
  const second = await renew()
  expect(second).toMatchObject({ usageBytes: 10_000, asOf: new Date(store.now).toISOString() })
  expect(await kept()).toEqual({ cost: second, isFresh: true })
  store.now -= 2 * MINUTE
  expect(await kept(), 'by a clock that is behind').toMatchObject({ isFresh: false })
})

test('renewCost computes once for two at once, and again after a failure', async () => {
  const { kept, renew, renewal, use } = await inUse()
  const first = await renew()
  store.now += MINUTE
  const end = await renewal()

  expect([await renew(), await kept()]).toEqual([undefined, { cost: first, isFresh: false }])
  await use()
  await end()
  expect(await renew(), 'as it was when the other computed it').toMatchObject({ usageBytes: 5000 })
  store.now += MINUTE
  await sql`alter table cycle_costs add constraint full_disk check (cycle_key = '') not valid`.execute(store.db)
  await expect(renew()).rejects.toThrow('full_disk')
  await sql`alter table cycle_costs drop constraint full_disk`.execute(store.db)
  expect(await kept()).toMatchObject({ cost: { usageBytes: 5000 }, isFresh: false })
  expect(await renew()).toMatchObject({ usageBytes: 10_000 })
})

test('keptCost of a closed cycle is its statement, for good', async () => {
  const { harness, use, kept, renew } = await inUse()
  store.now = CLOSE
  await renew()
  await close(harness)
  expect(await kept(), 'from before the close').toBeUndefined()
  const cost = await renew()
  await use()
  store.now += 400 * 86_400_000

  expect(cost?.closedAt).toBe(new Date(CLOSE).toISOString())
  expect(await kept()).toEqual({ cost, isFresh: true })
  const now = await harness.asTenant((tx) => costOfCycle(tx, CYCLE))
  expect({ ...now, asOf: cost?.asOf }).toEqual(cost)

  const other = await inUse()
  store.now = CLOSE
  const end = await other.renewal()
  await close(other.harness)
  await end()
  expect(await other.kept(), 'begun before the close, kept after it').toBeUndefined()
})

test('keptCost finds no cost of another form, and none of another tenant', async () => {
  const { kept, renew } = await inUse()
  const cost = await renew()
  const other = await inUse()

  expect(await other.kept()).toBeUndefined()
  await other.renew()
  await sql`update cycle_costs set cost = cost - 'currency'`.execute(store.db)
  expect([await kept(), await other.kept()]).toEqual([undefined, undefined])
  store.now = Date.parse(cost?.asOf ?? '')
  expect(await renew()).toEqual(cost)
})
