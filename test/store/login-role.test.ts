/** The database under an installation's login role: no superuser, owner of its tables, member of two roles it can assume. */
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { importSims } from '../../service/sims/import-sims.ts'
import { createTenant } from '../../service/tenants/create-tenant.ts'
import { connect } from '../../store/connect.ts'
import { pendingMigrations } from '../../store/migrate/migrate.ts'
import { type Db, inPlatform, inTenant, type Store } from '../../store/tenancy.ts'
import { recordUsage } from '../service/record-usage.ts'
import { administrate } from '../setup/database.ts'
import { ownDatabase } from '../setup/login.ts'
import { requirePostgres } from '../setup/requirements.ts'

let store: Store
let root: Db
let tenantId: string
let rootUrl: string
const closing: (() => Promise<unknown>)[] = []
const NOW = Date.UTC(2026, 10, 20, 12)

const open = (url: string): Db => {
  const { db, close } = connect(url, { max: 3 })
  closing.push(close)
  return db
}

beforeAll(async () => {
  const database = await ownDatabase()
  closing.push(database.drop)
  rootUrl = database.rootUrl
  root = open(rootUrl)
  store = { db: open(database.url), clock: () => NOW, enqueue: () => undefined }
  const tenant = { name: 'Meadow', billingEmail: 'billing@meadow.example' }
  tenantId = (await inPlatform(store, (tx) => createTenant(tx, tenant, { billingCycle: 'P1M', currency: 'EUR' }))).id
  const { created } = await inTenant(store, tenantId, (tx) => importSims(tx, [{ iccid: '894450010300000001' }]))
  const usage = { recordId: 'a', simId: created[0]?.id, at: new Date(NOW).toISOString(), bytesUp: 1 }
  await recordUsage(store, tenantId, [usage])
})
afterAll(async () => {
  for (const close of closing.reverse()) await close()
})

const tables = async (): Promise<string[]> => {
  const { rows } = await sql<{ name: string }>`
    select c.relname as name from pg_class c
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and c.relrowsecurity`.execute(root)
  return rows.map(({ name }) => name)
}
const countOf = async (db: Db, table: string) => {
  const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(table)}`.execute(db)
  return rows[0]?.count
}

describe('a login role that owns the database', () => {
  test('is no superuser and bypasses no row-level security', async () => {
    const { rows } = await sql`
      select rolsuper, rolbypassrls, rolcreaterole from pg_roles where rolname = current_user`.execute(store.db)

    expect(rows).toEqual([{ rolsuper: false, rolbypassrls: false, rolcreaterole: false }])
  })

  test('has migrated the database and can use it', async () => {
    expect(await pendingMigrations(store.db)).toEqual([])
    expect(await countOf(root, 'usage_records')).toBe(1)
    const [sims] = await inTenant(store, tenantId, async (tx) => (await sql`select iccid from sims`.execute(tx.q)).rows)
    expect(sims).toEqual({ iccid: '894450010300000001' })
  })

  test('sees no row outside inTenant and inPlatform', async () => {
    const seen: string[] = []
    for (const table of await tables()) {
      if (((await countOf(store.db, table)) ?? 0) > 0) seen.push(table)
    }

    expect(await countOf(root, 'sims')).toBe(1)
    expect(await countOf(root, 'tenants')).toBe(1)
    expect(seen).toEqual([])
  })

  test('writes no row outside inTenant and inPlatform', async () => {
    const forgotten = sql`
      insert into pools (tenant_id, name, type, tariff_id, watchdog_mode, created_at, updated_at, activated_at)
      values (${tenantId}, 'p', 0, 1, 0, now(), now(), now())`
    const changed = await sql`update sims set tag = 'x'`.execute(store.db)

    await expect(forgotten.execute(store.db)).rejects.toThrow(/row-level security/)
    expect(changed.numAffectedRows).toBe(0n)
  })

  test('sees no row with app.tenant but without a role', async () => {
    const seen = await store.db.transaction().execute(async (q) => {
      await sql`select set_config('app.tenant', ${tenantId}, true)`.execute(q)
      return (await sql`select 1 from sims`.execute(q)).rows
    })

    expect(seen).toEqual([])
  })
})

// On 15 a login with CREATEROLE takes on any role.
if (requirePostgres(16, 'what migrate says to a login that may not take on the role of the search')) {
  test('migrate names what a login lacks that may not take on the role of the search', async () => {
    await expect(ownDatabase({ roles: ['simherd_tenant', 'simherd_platform'] })).rejects.toMatchObject({
      name: 'UnfitDatabase',
      message: expect.stringMatching(
        /^migration 0001_baseline failed: app_\w+ may not make the role simherd_search, or take it on: as a superuser, run/,
      ),
    })
  })
}

test('migrate says what a superuser has to run for an owner without the rights of the schema', async () => {
  await expect(ownDatabase({ ownsSchema: false })).rejects.toThrow(
    /^the login (app_\w+) does not own the schema public of the database app_\w+: as a superuser, run in that database: alter schema public owner to \1;$/,
  )
})

describe('a login role that owns nothing', () => {
  let guest: Store
  beforeAll(async () => {
    const url = new URL(rootUrl)
    const name = `guest${url.pathname.slice(1)}`
    await administrate(`create role ${name} login noinherit password '${name}'`)
    await administrate(`grant simherd_tenant, simherd_platform to ${name}`)
    closing.push(() => administrate(`drop role ${name}`))
    url.username = name
    url.password = name
    guest = { ...store, db: open(url.href) }
  })

  test('works as a tenant and as the platform', async () => {
    const { created } = await inTenant(guest, tenantId, (tx) => importSims(tx, [{ iccid: '894450010300000019' }]))
    const made = await inPlatform(guest, (tx) =>
      createTenant(tx, { name: 'Pond', billingEmail: 'a@b.example' }, { billingCycle: 'P1M', currency: 'EUR' }),
    )

    expect(created).toHaveLength(1)
    expect(made.id).not.toBe(tenantId)
  })

  test('is denied every table outside inTenant and inPlatform', async () => {
    for (const table of await tables())
      await expect(countOf(guest.db, table), table).rejects.toThrow(/permission denied/)
  })
})
