import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTenant } from '../../operations/create-tenant.ts'
import { importSims } from '../../operations/import-sims.ts'
import { connect } from '../../store/connect.ts'
import { type Db, type Ground, inPlatform, inTenant } from '../../store/tenancy.ts'
import { freshDatabase } from '../setup/database.ts'

let ground: Ground
let db: Db
let ours: string
let theirs: string
const closing: (() => Promise<unknown>)[] = []

const RLS_REFUSED = /row-level security/

beforeAll(async () => {
  const database = await freshDatabase()
  closing.push(database.drop)
  const connection = connect(database.url)
  closing.push(connection.close)
  db = connection.db
  ground = { db, clock: Date.now, ring: () => undefined }
  const tenants = await inPlatform(ground, async (tx) => [
    await createTenant(tx, { name: 'Ours', billingEmail: 'a@example.com' }, 'P1M'),
    await createTenant(tx, { name: 'Theirs', billingEmail: 'b@example.com' }, 'P1M'),
  ])
  ours = tenants[0]?.id ?? ''
  theirs = tenants[1]?.id ?? ''
  await inTenant(ground, ours, (tx) => importSims(tx, [{ iccid: '894450010200000001' }]))
  await inTenant(ground, theirs, (tx) => importSims(tx, [{ iccid: '894450010200000002' }]))
})
afterAll(async () => {
  for (const close of closing.reverse()) await close()
})

/** Runs as the tenants' role with whatever `app.tenant` says. */
const asTenantRole = (tenant: string | null) =>
  db.transaction().execute(async (q) => {
    await sql`set local role simherd_tenant`.execute(q)
    if (tenant !== null) await sql`select set_config('app.tenant', ${tenant}, true)`.execute(q)
    const { rows } = await sql<{ iccid: string }>`select iccid from sims`.execute(q)
    return rows.map(({ iccid }) => iccid)
  })

describe('row-level security', () => {
  test('a tenant sees its own rows', async () => {
    expect(await asTenantRole(ours)).toEqual(['894450010200000001'])
  })

  test.each([
    ['without a tenant', null],
    ['with an empty one', ''],
    ['with one nobody has', 'nobody'],
  ])('a query %s returns nothing', async (_how, tenant) => {
    expect(await asTenantRole(tenant)).toEqual([])
  })

  test("a row cannot be written into another tenant's estate", async () => {
    const insert = inTenant(ground, ours, (tx) =>
      sql`insert into pools (tenant_id, name, type, tariff_id, watchdog_mode, created_at, updated_at, activated_at)
          values (${theirs}, 'p', 0, 1, 0, now(), now(), now())`.execute(tx.q),
    )

    await expect(insert).rejects.toThrow(RLS_REFUSED)
  })

  test("a row cannot be moved into another tenant's estate", async () => {
    const move = inTenant(ground, ours, (tx) => sql`update sims set tenant_id = ${theirs}`.execute(tx.q))

    await expect(move).rejects.toThrow(RLS_REFUSED)
  })

  test("an update or delete does not reach another tenant's rows", async () => {
    const changed = await inTenant(ground, ours, async (tx) => [
      (await sql`update sims set tag = 'x' where iccid = '894450010200000002'`.execute(tx.q)).numAffectedRows,
      (await sql`delete from sims where iccid = '894450010200000002'`.execute(tx.q)).numAffectedRows,
    ])

    expect(changed).toEqual([0n, 0n])
  })

  test('a tenant cannot write a tariff or an event of the platform', async () => {
    const event = inTenant(ground, ours, (tx) =>
      sql`insert into events (tenant_id, type, severity, title, description, at) values (null, 2, 0, '', '', now())`.execute(
        tx.q,
      ),
    )

    await expect(event).rejects.toThrow(RLS_REFUSED)
  })

  test('the platform reaches no table of the tenants', async () => {
    const read = inPlatform(ground, (tx) => sql`select 1 from sims`.execute(tx.q))

    await expect(read).rejects.toThrow(/permission denied/)
  })

  test('a tenant reaches no API key', async () => {
    const read = inTenant(ground, ours, (tx) => sql`select 1 from api_keys`.execute(tx.q))

    await expect(read).rejects.toThrow(/permission denied/)
  })

  test('the role does not outlive its transaction', async () => {
    await inTenant(ground, ours, (tx) => sql`select 1`.execute(tx.q))

    const { rows } = await sql<{ tenant: string | null }>`
      select nullif(current_setting('app.tenant', true), '') as tenant`.execute(db)
    expect(rows[0]?.tenant).toBeNull()
  })

  test('every table with a tenant has forced row-level security', async () => {
    const { rows } = await sql<{ relname: string }>`
      select c.relname from pg_class c
        join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
       where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
         and not (c.relrowsecurity and c.relforcerowsecurity) and not c.relispartition`.execute(db)

    expect(rows).toEqual([])
  })
})
