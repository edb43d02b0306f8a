/**
 * Monthly partitions of the usage records: a month that is over is dropped in a moment, and queries by time look at few
 * of them. A partition is made apart and attached by a function of the database, which asks for no lock that reading
 * or writing usage waits for.
 */
import { sql } from 'kysely'
import type { Db, Store } from '../tenancy.ts'
import { inPlatform } from '../tenancy.ts'

/** The month before, for late records; this one; and three more, so that there is time to notice that none was made. */
const MONTHS = [-1, 0, 1, 2, 3]

/** Months, by their first day, that this process has seen the partition of. */
const seen = new WeakMap<Db, Set<string>>()

/** First day of a month in UTC: `2026-11-01`. @param ahead months after the instant's */
function monthOf(instant: number, ahead = 0): string {
  const at = new Date(instant)
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + ahead, 1)).toISOString().slice(0, 10)
}

/**
 * Makes the partitions that records of these instants go to. Safe to run twice and at once; costs nothing where this
 * process has seen them.
 *
 * @param instants epoch milliseconds
 * @returns names of those that were made
 */
export async function partitionsFor(store: Store, instants: readonly number[]): Promise<string[]> {
  const known = seen.get(store.db) ?? new Set()
  seen.set(store.db, known)
  const months = [...new Set(instants.map((instant) => monthOf(instant)))]
    .filter((month) => !known.has(month))
    .toSorted()
  const made = []
  for (const month of months) {
    const { rows } = await inPlatform(store, (tx) =>
      sql<{ name: string | null }>`select make_usage_partition(${month}) as name`.execute(tx.q),
    )
    known.add(month)
    made.push(...rows.flatMap(({ name }) => name ?? []))
  }
  return made
}

/** Makes the partitions around now that are missing. @returns names of those that were made */
export const partitionsAhead = (store: Store): Promise<string[]> =>
  partitionsFor(
    store,
    MONTHS.map((ahead) => Date.parse(monthOf(store.clock(), ahead))),
  )

/** How many months after this one have a partition without a gap: three where all is well. */
export async function monthsAhead(store: Store): Promise<number> {
  const months = MONTHS.filter((ahead) => ahead > 0).map((ahead) => monthOf(store.clock(), ahead))
  const { rows } = await inPlatform(store, (tx) =>
    sql<{ there: boolean }>`
      select to_regclass(usage_partition(month)) is not null as there
      from unnest(${months}::date[]) with ordinality as m(month, place) order by place`.execute(tx.q),
  )
  const missing = rows.findIndex(({ there }) => !there)
  return missing === -1 ? rows.length : missing
}
