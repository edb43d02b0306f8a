/** Interleaves transactions without sleeping: one continues as soon as the other waits for a lock. */
import { sql } from 'kysely'
import { inTenant, type Store, type TenantTx } from '../../store/tenancy.ts'
import { soon } from './soon.ts'

/** The number of sessions of this database that wait for a lock. */
export async function lockWaiters({ db }: Pick<Store, 'db'>): Promise<number> {
  const { rows } = await sql`
    select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
  return rows.length
}

/** Starts `second` after the work of `first`. The transaction of `first` commits once `second` waits for a lock or ends. */
export async function overlapping(
  store: Store,
  tenantId: string,
  first: (tx: TenantTx) => Promise<unknown>,
  second: () => Promise<unknown>,
): Promise<void> {
  const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const holder = inTenant(store, tenantId, async (tx) => {
    await first(tx)
    begun.resolve()
    await held.promise
  })
  await Promise.race([begun.promise, holder])
  let hasEnded = false
  const other = second().finally(() => {
    hasEnded = true
  })
  try {
    await soon(async () => {
      if (!hasEnded && (await lockWaiters(store)) === 0) throw new Error('the second neither waits nor has ended')
    })
  } finally {
    held.resolve()
    await Promise.all([holder, other])
  }
}
