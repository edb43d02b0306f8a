/** Allows one backtest at a time. A broken connection gives its lock back. */
import { sql } from 'kysely'
import type { Db } from '../../../store/tenancy.ts'

/** Takes the lock of backtests for this session. @returns whether it was free */
export async function tryBacktestLock(db: Db): Promise<boolean> {
  const { rows } = await sql<{ locked: boolean }>`
    select pg_try_advisory_lock(hashtext('simherd.backtest'), 0) as locked`.execute(db)
  return rows[0]?.locked === true
}

export async function releaseBacktestLock(db: Db): Promise<void> {
  await sql`select pg_advisory_unlock(hashtext('simherd.backtest'), 0)`.execute(db)
}

/** The session of a single connection, for `endBackend`. */
export async function backendOf(db: Db): Promise<number> {
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)
  return rows[0]?.pid ?? 0
}

/** Ends a session of the same login, and the statement that it is at. */
export async function endBackend(db: Db, pid: number): Promise<void> {
  await sql`select pg_terminate_backend(${pid})`.execute(db)
}
