/** SIMs are counted while processes of the release before are at work, and from the SIMs that there are. */
import { sql } from 'kysely'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { connect } from '../../store/connect.ts'
import { wrongCounts } from '../../store/estate/wrong-counts.ts'
import { migrate } from '../../store/migrate.ts'
import { readMigrationFiles } from '../../store/migration-files.ts'
import { inTenant } from '../../store/tenancy.ts'
import { emptyDatabase } from '../setup/database.ts'
import { aStore, aTenant, byHand, someSims } from '../setup/estate.ts'

const store = await aStore()

describe('sim_blocks', () => {
  test('has the SIMs of before, and those that are written while it is made', { timeout: 120_000 }, async () => {
    const database = await emptyDatabase()
    const files = await readMigrationFiles()
    await migrate(database.url, { files: files.filter(({ name }) => name < '0053') })
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    const { db, close } = connect(database.url, { max: 2 })
    try {
      await client.query(`
        insert into tenants (id, name, billing_email, billing_cycle, created_at, updated_at)
        select id, id, 'a@example.com', 'P1M', now(), now() from unnest(array['one', 'two']) id`)
      const insert = (from: number, to: number) =>
        client.query(
          `insert into sims (tenant_id, iccid, type, status, status_since, created_at, updated_at)
           select case when n % 3 = 0 then 'two' else 'one' end, (8944000000000000000 + n)::text, 0, n % 3, now(), now(), now()
             from generate_series($1::bigint, $2) n`,
          [from, to],
        )
      await insert(1, 100_000)
      await client.query('begin')
      await insert(100_001, 100_100)
      await client.query('update sims set status = 2 where id % 7 = 0 and id > 99000')

      const migrated = migrate(database.url, { files: files.filter(({ name }) => name.startsWith('0053')) })
      await client.query('commit')
      await migrated
      await insert(100_101, 100_200)
      await client.query('update sims set status = 1 where id % 5 = 0 and id > 99000')

      const store = { db, clock: Date.now, enqueue: () => undefined }
      for (const tenantId of ['one', 'two']) {
        expect(await inTenant(store, tenantId, wrongCounts)).toEqual([])
        const { rows } = await inTenant(store, tenantId, (tx) =>
          sql<{ kept: number; there: number }>`
            select (select sum(sims)::integer from sim_blocks) as kept, (select count(*)::integer from sims) as there`.execute(
            tx.q,
          ),
        )
        expect([rows[0]?.kept, rows[0]?.there]).toEqual(tenantId === 'one' ? [66_800, 66_800] : [33_400, 33_400])
      }
    } finally {
      await client.end()
      await close()
      await database.drop()
    }
  })

  test('is right for transactions that tally, that do not, and that do both', async () => {
    const tenantId = await aTenant(store)
    const change = (status: number) => sql`update sims set status = ${status} where tenant_id = ${tenantId}`
    await inTenant(store, tenantId, async (tx) => {
      await someSims(tx, 3)
      await byHand(tx)
      await change(1).execute(tx.q)
    })
    await change(2).execute(store.db)
    await inTenant(store, tenantId, (tx) => someSims(tx, 2))
    await sql`delete from sims where id = (select max(id) from sims where tenant_id = ${tenantId})`.execute(store.db)

    const { rows } = await inTenant(store, tenantId, (tx) =>
      sql`select status, sum(sims)::integer as sims from sim_blocks where tenant_id = ${tenantId} group by 1 order by 1`.execute(
        tx.q,
      ),
    )

    expect(rows).toEqual([
      { status: 0, sims: 1 },
      { status: 1, sims: 0 },
      { status: 2, sims: 3 },
    ])
  })

  test('lets transactions of neighbouring SIMs go on until their commits', async () => {
    const tenantId = await aTenant(store)
    const sims = await inTenant(store, tenantId, (tx) => someSims(tx, 2))
    const bothHave = Promise.withResolvers<void>()
    let have = 0
    const importOne = () =>
      inTenant(store, tenantId, async (tx) => {
        await someSims(tx, 1)
        have += 1
        if (have === 2) bothHave.resolve()
        await bothHave.promise
      })

    await Promise.all([importOne(), importOne()])

    expect(sims).toHaveLength(2)
    expect(await inTenant(store, tenantId, wrongCounts)).toEqual([])
  })
})
