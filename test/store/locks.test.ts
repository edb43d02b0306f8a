import { expect, test } from 'vitest'
import { TariffType } from '../../domain/codes.ts'
import { addToPool, currentCycle, lockPools } from '../../store/cycles.ts'
import { divideOverage, poolFigures } from '../../store/figures.ts'
import { inTenant, type TenantTx } from '../../store/tenancy.ts'
import { aGround, aPool, aTariff, aTenant } from '../setup/estate.ts'
import { lockWaiters } from '../setup/lock-waits.ts'
import { soon } from '../setup/soon.ts'

const ground = await aGround()

test('a division takes no lock of a pool that has become stale while it waited', async () => {
  const tenantId = await aTenant(ground)
  const asTenant = <T>(work: (tx: TenantTx) => Promise<T>) => inTenant(ground, tenantId, work)
  const { key, first, second } = await asTenant(async (tx) => {
    const tariff = await aTariff(tx, TariffType['Dynamic Pool'], 1000)
    const [first, second] = [await aPool(tx, tariff.id, { type: 1 }), await aPool(tx, tariff.id, { type: 1 })]
    const { key } = await currentCycle(tx)
    await poolFigures(tx, key, [first.id, second.id])
    await addToPool(tx, key, second.id, { bytes: 1 })
    return { key, first: first.id, second: second.id }
  })
  const [locked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]

  const holder = asTenant(async (tx) => {
    await lockPools(tx, key, [second])
    locked.resolve()
    await held.promise
  })
  await locked.promise
  const division = asTenant((tx) => divideOverage(tx, key, [first, second]))
  await soon(async () => expect(await lockWaiters(ground)).toBe(1))
  await asTenant(async (tx) => {
    await lockPools(tx, key, [first])
    await addToPool(tx, key, first, { bytes: 1 })
  })
  const usage = asTenant(async (tx) => {
    await lockPools(tx, key, [first, second])
    await addToPool(tx, key, first, { bytes: 1 })
  })
  await soon(async () => expect(await lockWaiters(ground)).toBe(2))
  held.resolve()

  const ends = await Promise.allSettled([holder, division, usage])
  expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled'])
})
