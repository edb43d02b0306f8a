import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTenant } from '../../service/tenants/create-tenant.ts'
import { inPlatform, type Store } from '../../store/tenancy.ts'
import { borrowDatabase } from '../setup/borrowed-database.ts'

/** Of no other test's size, so that none gets these. */
const CONNECTIONS = 3
const TENANT = { name: 'Meadow', billingEmail: 'billing@meadow.example', billingCycle: 'P1M' }

const tenantsOf = async ({ db }: Pick<Store, 'db'>) =>
  (await sql<{ tenants: number }>`select count(*)::integer as tenants from tenants`.execute(db)).rows

test('a database that is given back goes to the next without rows', async () => {
  const first = await borrowDatabase(CONNECTIONS)
  const store = { db: first.db, clock: Date.now, enqueue: () => undefined }
  await inPlatform(store, (tx) => createTenant(tx, TENANT, { billingCycle: 'P1M', currency: 'EUR' }))
  expect(await tenantsOf(first)).toEqual([{ tenants: 1 }])
  await first.giveBack()

  const second = await borrowDatabase(CONNECTIONS)
  expect([second.url, await tenantsOf(second)]).toEqual([first.url, [{ tenants: 0 }]])
  await second.giveBack()
})

test.each([
  ['a table', 'create table notes (id integer)'],
  ['statistics', 'analyze order_prices'],
  ['prices', 'update order_prices set price = price + 1'],
])('a database with other %s goes to nobody', async (_, change) => {
  const changed = await borrowDatabase(CONNECTIONS)
  await sql.raw(change).execute(changed.db)
  await changed.giveBack()

  const next = await borrowDatabase(CONNECTIONS)
  expect(next.url).not.toBe(changed.url)
  await next.giveBack()
})

test('a deadlock that the service got over is told when the database is given back', async () => {
  const { db, giveBack } = await borrowDatabase(CONNECTIONS)
  const { promise: bothLocked, resolve } = Promise.withResolvers<void>()
  let locked = 0
  const lock = (first: number, second: number) =>
    db.transaction().execute(async (tx) => {
      await sql`select pg_advisory_xact_lock(${first})`.execute(tx)
      if (++locked === 2) resolve()
      await bothLocked
      await sql`select pg_advisory_xact_lock(${second})`.execute(tx)
    })
  const [a, b] = await Promise.allSettled([lock(1, 2), lock(2, 1)])
  expect([a?.status, b?.status].toSorted()).toEqual(['fulfilled', 'rejected'])

  await expect(giveBack()).rejects.toThrow('PostgreSQL broke off 1 transaction(s) for a deadlock')
})
