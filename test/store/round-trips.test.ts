/** Transactions begun in one packet with their first statement: errors, lost connections, the state left behind. */
import { Socket } from 'node:net'
import { sql } from 'kysely'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Job } from '../../domain/jobs.ts'
import { connect } from '../../store/connect.ts'
import { copyOf } from '../../store/copy.ts'
import { ahead } from '../../store/kept.ts'
import { inPlatform, inTenant, readOnly, type Store, type TenantTx } from '../../store/tenancy.ts'
import { cutLine } from '../setup/cut-line.ts'
import { aStore, aTenant, someSims } from '../setup/estate.ts'
import { until } from '../setup/soon.ts'

const store = await aStore()

/** The same store over a few connections. */
function over(max: number, databaseUrl = store.databaseUrl): Store {
  const { db, close } = connect(databaseUrl, { max })
  onTestFinished(close)
  return { ...store, db }
}

/** A tenant with one SIM. */
async function aTenantOfOne() {
  const tenantId = await aTenant(store)
  const [sim] = await inTenant(store, tenantId, (tx) => someSims(tx, 1))
  return { tenantId, simId: sim?.id ?? 0 }
}

const idsOf = async ({ q }: Pick<TenantTx, 'q'>) => (await sql<{ id: number }>`select id from sims`.execute(q)).rows
const ask = ({ q }: Pick<TenantTx, 'q'>) => sql`select 1`.execute(q)
const fail = ({ q }: Pick<TenantTx, 'q'>) => sql`select 1 / (select 0)`.execute(q)
const failAhead = ({ q }: Pick<TenantTx, 'q'>) => sql`${ahead} select 1 / (select 0)`.execute(q)
const sleeping = () =>
  until('the statement is under way', async () => {
    const { rows } = await sql`
      select 1 from pg_stat_activity where datname = current_database() and state = 'active' and query like '%pg_sleep(%'
         and pid <> pg_backend_pid()`.execute(store.db)
    return rows.length > 0
  })
const errorOf = (work: Promise<unknown>) => work.then(() => undefined).catch((error: unknown) => error)

/** The state that transactions left in a connection: tenant, role, timeout, and whether one is open. */
async function leftIn({ db }: Store) {
  const { rows } = await sql<Record<string, unknown>>`
    select coalesce(current_setting('app.tenant', true), '') as tenant, current_user = session_user as "isOwn",
           current_setting('statement_timeout') as timeout,
           (select xact_start = query_start from pg_stat_activity where pid = pg_backend_pid()) as "isClosed"`.execute(
    db,
  )
  return rows[0]
}
const NOTHING = { tenant: '', isOwn: true, timeout: '0', isClosed: true }

describe('a transaction', () => {
  test('leaves with its first statement as one write, and its commit as another', async () => {
    const { tenantId, simId } = await aTenantOfOne()
    const one = over(1)
    await inTenant(one, tenantId, idsOf)
    const writes = [vi.spyOn(Socket.prototype, '_write'), vi.spyOn(Socket.prototype, '_writev')]
    onTestFinished(() => writes.forEach((spy) => spy.mockRestore()))
    for (const each of [readOnly(one), one]) {
      for (const spy of writes) spy.mockClear()
      expect(await inTenant(each, tenantId, idsOf)).toEqual([{ id: simId }])
      expect(writes.reduce((sum, { mock }) => sum + mock.calls.length, 0)).toBe(2)
    }
  })

  const failing: [string, string, (tx: TenantTx) => Promise<unknown>, string][] = [
    ['the statements ahead', 'a\0b', idsOf, '22021'],
    ['its first statement', 'a', fail, '22012'],
    ['a later statement', 'a', async (tx: TenantTx) => [await idsOf(tx), await fail(tx)], '22012'],
    ['a statement ahead of its commit', 'a', async (tx: TenantTx) => [await idsOf(tx), await failAhead(tx)], '22012'],
    ['COPY', 'a', async (tx: TenantTx) => copyOf(tx, sql`select 1 / (select 0)`), '22012'],
  ]
  test.each(failing)(
    'that fails in %s has that error, and leaves nothing in its connection',
    async (_, tenantId, work, code) => {
      const one = over(1)
      for (const each of [one, readOnly(one)]) {
        expect(await errorOf(inTenant(each, tenantId, work))).toMatchObject({ code })
        expect(await leftIn(one)).toEqual(NOTHING)
      }
      expect(await inTenant(one, 'a', idsOf)).toEqual([])
    },
  )

  test('that reads does not wait for its commit', async () => {
    const line = await cutLine(store.databaseUrl)
    onTestFinished(line.close)
    const { tenantId, simId } = await aTenantOfOne()
    const one = over(1, line.url)
    const read = async (tx: TenantTx) => {
      const ids = await idsOf(tx)
      line.silence()
      return ids
    }
    expect(await inTenant(readOnly(one), tenantId, read)).toEqual([{ id: simId }])
  })

  test('that fails at its commit enqueues no job', async () => {
    const { tenantId } = await aTenantOfOne()
    const jobs: Job[] = []
    const enqueueing = { ...store, enqueue: (some: readonly Job[]) => void jobs.push(...some) }
    const toEnqueue = async (tx: TenantTx, last: (tx: TenantTx) => Promise<unknown>) => {
      tx.enqueue({ queue: 'tickets' })
      await last(tx)
    }
    expect(await errorOf(inTenant(enqueueing, tenantId, (tx) => toEnqueue(tx, failAhead)))).toMatchObject({
      code: '22012',
    })
    expect(jobs).toEqual([])
    await inTenant(enqueueing, tenantId, (tx) => toEnqueue(tx, ask))
    expect(jobs).toEqual([{ queue: 'tickets', tenantId }])
  })

  test('without a statement leaves nothing either', async () => {
    const one = over(1)
    expect(await errorOf(inTenant(readOnly(one), 'a\0b', async () => undefined))).toMatchObject({ code: '22021' })
    expect(await leftIn(one)).toEqual(NOTHING)
    expect(await inTenant(readOnly(one), 'a', idsOf)).toEqual([])
  })
})

describe('a lost connection', () => {
  const points: [string, (tx: Pick<TenantTx, 'q'>, cut: () => void) => Promise<unknown>][] = [
    ['before its first statement', async (tx, cut) => (cut(), ask(tx))],
    [
      'during its first statement',
      async (tx, cut) => Promise.all([sql`select pg_sleep(20)`.execute(tx.q), sleeping().then(cut)]),
    ],
    ['between two statements', async (tx, cut) => (await ask(tx), cut(), ask(tx))],
    ['before its commit', async (tx, cut) => (await ask(tx), cut())],
  ]
  test.each(points)('%s fails its own transaction, and no other', async (_, work) => {
    const line = await cutLine(store.databaseUrl)
    onTestFinished(line.close)
    const { tenantId, simId } = await aTenantOfOne()
    const one = over(1, line.url)
    for (const begin of [inTenant.bind(null, one, tenantId), inPlatform.bind(null, one)]) {
      await inTenant(one, tenantId, idsOf)
      expect(await errorOf(begin((tx) => work(tx, line.cut)))).toBeInstanceOf(Error)
      line.mend()
      expect(await inTenant(readOnly(one), tenantId, idsOf)).toEqual([{ id: simId }])
      expect(await leftIn(one)).toEqual(NOTHING)
    }
  })
})

describe('reads of several tenants at once', () => {
  test('see their own rows only, whichever of them fail or are given up', async () => {
    const tenants = [await aTenantOfOne(), await aTenantOfOne(), await aTenantOfOne()]
    const few = over(3)
    const read = async (n: number): Promise<void> => {
      const tenant = tenants[n % 3]
      if (tenant === undefined) throw new Error('no tenant')
      const caller = new AbortController()
      const one = { ...(n % 2 === 0 ? readOnly(few) : few), left: caller.signal }
      const reading = inTenant(one, tenant.tenantId, async (tx) => {
        if (n % 7 === 0) caller.abort()
        const both = await Promise.all([idsOf(tx), n % 5 === 0 ? fail(tx) : idsOf(tx)])
        if (n % 11 === 0) caller.abort()
        return [...both, await idsOf(tx)]
      })
      const isToFail = n % 5 === 0 || n % 7 === 0 || n % 11 === 0
      const ids = [{ id: tenant.simId }]
      if (isToFail) expect(await errorOf(reading)).toBeInstanceOf(Error)
      else expect(await reading).toEqual([ids, ids, ids])
    }
    const numbers = Array.from({ length: 1000 }, (_, n) => n).values()
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        for (const n of numbers) await read(n)
      }),
    )
    expect(await Promise.all([leftIn(few), leftIn(few), leftIn(few)])).toEqual([NOTHING, NOTHING, NOTHING])
  })
})
