/** How long statements, lock waits and idle transactions may take, and the error (503) when one takes longer. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { asServiceError } from '../../api/http/problems.ts'
import { connect } from '../../store/connect.ts'
import { type Db, inPlatform, inTenant, withLongTimeout } from '../../store/tenancy.ts'
import { cutLine } from '../setup/cut-line.ts'
import { aStore } from '../setup/estate.ts'
import { until } from '../setup/soon.ts'

const store = await aStore()
const { db, databaseUrl: url } = store

const NAMES = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']
const limitsOf = async (on: Db) => {
  const { rows } = await sql<{ setting: string }>`
    select current_setting(name) as setting from unnest(${NAMES}::text[]) with ordinality as names(name, place)
     order by place`.execute(on)
  return rows.map(({ setting }) => setting)
}

describe('a transaction', () => {
  test('bounds statements, lock waits and idle transactions', async () => {
    expect(await inTenant(store, 'a', ({ q }) => limitsOf(q))).toEqual(['30s', '5s', '15s'])
    expect(await inPlatform(store, ({ q }) => limitsOf(q))).toEqual(['30s', '5s', '15s'])
  })

  test('allows 5-minute statements in slow transactions only', async () => {
    const seen = [
      await inTenant(withLongTimeout(store), 'a', ({ q }) => limitsOf(q)),
      await inPlatform(withLongTimeout(store), ({ q }) => limitsOf(q)),
      await inTenant(store, 'a', ({ q }) => limitsOf(q)),
      await inPlatform(store, ({ q }) => limitsOf(q)),
    ]

    expect(seen.map(([statement]) => statement)).toEqual(['5min', '5min', '30s', '30s'])
  })

  test('leaves no limit to the connection, which a pooler may give to others', async () => {
    const one = connect(url, { max: 1 })
    await inPlatform({ ...store, db: one.db }, async () => undefined)
    const seen = await limitsOf(one.db)
    await one.close()

    expect(seen).toEqual(['0', '0', '0'])
  })
})

describe('a server that does not answer', () => {
  test('is given up, and asked again on another connection', async () => {
    const line = await cutLine(url)
    const { db: behind, close } = connect(line.url, { max: 1, answerMs: 300 })
    const far = { ...store, db: behind }
    const ask = () => inPlatform(far, ({ q }) => sql`select 1`.execute(q))
    await ask()

    line.silence()
    const error = await ask().catch((reason: unknown) => reason)
    line.mend()

    expect(asServiceError(error)).toMatchObject({ code: 'unavailable' })
    expect(error).toMatchObject({ message: 'PostgreSQL did not answer within 0.3 s' })
    await ask()
    await close()
    await line.close()
  })

  test('may take longer in a slow transaction', async () => {
    const { db: quick, close } = connect(url, { max: 1, answerMs: 100 })
    const waiting = ({ q }: { readonly q: Db }) => sql`select pg_sleep(0.3)`.execute(q)

    await expect(inPlatform({ ...store, db: quick }, waiting)).rejects.toThrow('did not answer')
    await inPlatform(withLongTimeout({ ...store, db: quick }), waiting)
    await expect(inPlatform({ ...store, db: quick }, waiting)).rejects.toThrow('did not answer')

    await close()
  })
})

/** Whether PostgreSQL still serves a connection. */
const isConnected = async (pid: number | undefined) => {
  const { rows } = await sql`select 1 from pg_stat_activity where pid = ${pid}`.execute(db)
  return rows.length > 0
}

describe('asServiceError', () => {
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => 'done',
      (error: unknown) => asServiceError(error),
    )

  test('returns unavailable for a slow statement', async () => {
    const error = await codeOf(
      inPlatform(store, async ({ q }) => {
        await sql`set local statement_timeout = 50`.execute(q)
        await sql`select pg_sleep(20)`.execute(q)
      }),
    )

    expect(error).toMatchObject({ code: 'unavailable', message: expect.stringContaining('took too long') })
  })

  test('returns unavailable for a lock that another holds for ever', async () => {
    const lock = (q: Db) => sql`select pg_advisory_xact_lock(17)`.execute(q)
    const error = await db.transaction().execute(async (q) => {
      await lock(q)
      return codeOf(inPlatform(store, (tx) => lock(tx.q)))
    })

    expect(error).toMatchObject({ code: 'unavailable', message: expect.stringContaining('took too long') })
  })

  test('returns unavailable for an idle transaction', async () => {
    const error = await codeOf(
      inPlatform(store, async ({ q }) => {
        const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(q)
        await sql`set local idle_in_transaction_session_timeout = 50`.execute(q)
        await until('the end of the connection', async () => !(await isConnected(rows[0]?.pid)))
        await sql`select 1`.execute(q)
      }),
    )

    expect(error).toMatchObject({ code: 'unavailable' })
  })
})
