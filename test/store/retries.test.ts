import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { inTenant, type TenantTx } from '../../store/tenancy.ts'
import { aStore, aTenantOf, someSims } from '../setup/estate.ts'

const store = await aStore(undefined, { deadlocks: 1 })

describe('inTenant', () => {
  test('runs a transaction again after a deadlock', async () => {
    const { tenantId, asTenant, rows } = await aTenantOf(store)
    const [a, b] = (await asTenant((tx) => someSims(tx, 2))).map(({ id }) => id)
    const patient = { ...store, deadlockRetries: 3 }
    let runs = 0
    const lock = (tx: TenantTx, id: number | undefined) =>
      sql`update sims set tag = tag || 'x' where id = ${id}`.execute(tx.q)
    let holders = 0
    const [bothHaveOne, oneIsDone] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const both = (first: number | undefined, second: number | undefined) =>
      inTenant(patient, tenantId, async (tx) => {
        runs++
        // Whoever is woken from a wait does not have the row yet: a run that begins at once could take it first.
        if (runs > 2) await oneIsDone.promise
        await lock(tx, first)
        holders++
        if (holders === 2) bothHaveOne.resolve()
        await bothHaveOne.promise
        await lock(tx, second)
      }).then(oneIsDone.resolve)

    await Promise.all([both(a, b), both(b, a)])

    const tags = await rows(sql`select tag from sims where id in (${a}, ${b})`)
    expect(runs).toBe(3)
    expect(tags).toEqual([{ tag: 'xx' }, { tag: 'xx' }])
  })
})
