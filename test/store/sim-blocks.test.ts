/** SIMs are counted by blocks, in transactions that tally and in SQL by hand. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { wrongCounts } from '../../service/sims/rows/wrong-counts.ts'
import { aStore, aTenantOf, byHand, someSims } from '../setup/estate.ts'

const store = await aStore()

describe('sim_blocks', () => {
  test('is right for transactions that tally, that do not, and that do both', async () => {
    const { tenantId, asTenant, rows } = await aTenantOf(store)
    const change = (status: number) => sql`update sims set status = ${status} where tenant_id = ${tenantId}`
    await asTenant(async (tx) => {
      await someSims(tx, 3)
      await byHand(tx)
      await change(1).execute(tx.q)
    })
    await change(2).execute(store.db)
    await asTenant((tx) => someSims(tx, 2))
    await sql`delete from sims where id = (select max(id) from sims where tenant_id = ${tenantId})`.execute(store.db)

    const blocks = sql`select status, sum(sims)::integer as sims from sim_blocks group by 1 order by 1`
    expect(await rows(blocks)).toEqual([
      { status: 0, sims: 1 },
      { status: 1, sims: 0 },
      { status: 2, sims: 3 },
    ])
  })

  test('lets transactions of neighbouring SIMs go on until their commits', async () => {
    const { asTenant } = await aTenantOf(store)
    const sims = await asTenant((tx) => someSims(tx, 2))
    const bothHave = Promise.withResolvers<void>()
    let have = 0
    const importOne = () =>
      asTenant(async (tx) => {
        await someSims(tx, 1)
        have += 1
        if (have === 2) bothHave.resolve()
        await bothHave.promise
      })

    await Promise.all([importOne(), importOne()])

    expect(sims).toHaveLength(2)
    expect(await asTenant(wrongCounts)).toEqual([])
  })
})
