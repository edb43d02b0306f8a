import { sql } from 'kysely'
import type { Db } from './tenancy.ts'

/**
 * Compares a clock with the database's.
 *
 * @param clock milliseconds since 1970
 * @returns milliseconds that the clock is ahead of the database's; negative if it is behind. Wrong by at most half of
 *   the time that the query takes
 */
export async function clockOffsetMs(db: Db, clock: () => number): Promise<number> {
  const before = clock()
  const { rows } = await sql<{ ms: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`.execute(db)
  const [row] = rows
  if (row === undefined) throw new Error('the database gave no time')
  return (before + clock()) / 2 - row.ms
}
