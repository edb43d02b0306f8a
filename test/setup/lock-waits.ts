/** Interleaves transactions without sleeping: one continues as soon as the other waits for a lock. */
import { sql } from 'kysely'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { inTenant, type Store, type TenantTx } from '../../store/tenancy.ts'
import { soon } from './soon.ts'

/** The number of sessions of this database that wait for a lock. */
export async function lockWaiters({ db }: Pick<Store, 'db'>): Promise<number> {
  const { rows } = await sql`
    select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
  return rows.length
}

/** Does work in a transaction, which then stays open. @returns what commits it */
export async function heldOpen<Tx = TenantTx>(
  begin: (work: (tx: NoInfer<Tx>) => Promise<void>) => Promise<unknown>,
  work: (tx: NoInfer<Tx>) => Promise<unknown>,
): Promise<() => Promise<unknown>> {
  const [done, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const transaction = begin(async (tx) => {
    await work(tx)
    done.resolve()
    await mayEnd.promise
  })
  await Promise.race([done.promise, transaction])
  return () => {
    mayEnd.resolve()
    return transaction
  }
}

/** Starts `second` after the work of `first`. The transaction of `first` commits once `second` waits for a lock or ends. */
export async function overlapping(
  store: Store,
  tenantId: string,
  first: (tx: TenantTx) => Promise<unknown>,
  second: () => Promise<unknown>,
): Promise<void> {
  const commit = await heldOpen((work) => inTenant(store, tenantId, work), first)
  let rest: () => Promise<unknown> = async () => undefined
  try {
    rest = (await beside(store, second)).rest
  } finally {
    await commit()
  }
  await rest()
}

/**
 * Starts work while another transaction is stalled. Returns once the work has ended, or waits for a lock that the stalled
 * one may hold.
 *
 * @returns whether it has ended, and what is left of it
 */
export async function beside(
  store: Store,
  work: () => Promise<unknown>,
): Promise<{ hasEnded: boolean; rest: () => Promise<unknown> }> {
  let hasEnded = false
  const working = work().finally(() => {
    hasEnded = true
  })
  // Whoever awaits it hears of a failure: not before.
  working.catch(() => undefined)
  await soon(async () => {
    if (!hasEnded && (await lockWaiters(store)) === 0) throw new Error('the other neither waits nor has ended')
  })
  return { hasEnded, rest: () => working }
}

/** Another session runs a statement and keeps its locks. @returns what releases them */
export async function holding(databaseUrl: string, statement: string): Promise<() => Promise<unknown>> {
  const other = new pg.Client({ connectionString: databaseUrl })
  await other.connect()
  onTestFinished(() => other.end())
  await other.query('begin')
  await other.query(statement)
  return () => other.query('rollback')
}
