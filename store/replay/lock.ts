/** One backtest at a time. A connection that breaks gives its lock back. */
import { sql } from 'kysely'
import type { Db } from '../tenancy.ts'

/** Takes the lock of backtests for this session. @returns whether nobody else has it */
export async function tryBacktestLock(db: Db): Promise<boolean> {
  const { rows } = await sql<{ locked: boolean }>`
    select pg_try_advisory_lock(hashtext('simherd.backtest'), 0) as locked`.execute(db)
  return rows[0]?.locked === true
}

export async function releaseBacktestLock(db: Db): Promise<void> {
  await sql`select pg_advisory_unlock(hashtext('simherd.backtest'), 0)`.execute(db)
}
