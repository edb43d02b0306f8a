/**
 * Monthly partitions of the usage records, made ahead: a month that is over is dropped in a moment then, and
 * queries by time look at few of them. Records of months without one are kept in the default partition.
 */
import { sql } from 'kysely'
import type { Db } from './tenancy.ts'

/** The month before, this one and two more: late records, and time to notice that none was made. */
const MONTHS = [-1, 0, 1, 2]
/**
 * Makes the partitions around an instant that are missing. Safe to run twice and at once. Runs as the login role,
 * which owns the table. Records of a month that lie in the default partition already are moved into its own; that
 * locks the table while it lasts.
 *
 * @param now epoch milliseconds
 * @returns names of those that were made
 */
export async function ensurePartitions(db: Db, now: number): Promise<string[]> {
  const at = new Date(now)
  const made: string[] = []
  for (const ahead of MONTHS) {
    const from = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + ahead, 1))
    const to = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + ahead + 1, 1))
    const name = `usage_records_${from.toISOString().slice(0, 7).replace('-', '_')}`
    if (await makePartition(db, name, from, to)) made.push(name)
  }
  return made
}

const makePartition = (db: Db, name: string, from: Date, to: Date): Promise<boolean> =>
  db.transaction().execute(async (q) => {
    await sql`select pg_advisory_xact_lock(hashtext('simherd.partitions'))`.execute(q)
    const { rows } = await sql`select 1 where to_regclass(${name}) is not null`.execute(q)
    if (rows.length > 0) return false
    await sql`lock table usage_records in access exclusive mode`.execute(q)
    await sql`create table ${sql.id(name)} (like usage_records including all)`.execute(q)
    await sql`
      with moved as (delete from usage_records_default where at >= ${from} and at < ${to} returning *)
      insert into ${sql.id(name)} select * from moved`.execute(q)
    await sql`
      alter table usage_records attach partition ${sql.id(name)}
        for values from (${sql.lit(from.toISOString())}) to (${sql.lit(to.toISOString())})`.execute(q)
    return true
  })
