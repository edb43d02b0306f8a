/**
 * Monthly partitions of the usage records. An old month can be dropped quickly, and queries by time read few
 * partitions. A database function makes each partition separately and then attaches it. Its locks do not block reading
 * or writing usage.
 */
import { sql } from 'kysely'
import type { Db, Store } from '../../../store/tenancy.ts'
import { inPlatform } from '../../../store/tenancy.ts'

/**
 * Months to make partitions for, from the current one: the previous month for late records, the current one, and three
 * more. With three there is time to notice a failure to make them.
 */
const MONTHS = [-1, 0, 1, 2, 3]

const DAY_MS = 86_400_000

/** Months, by their first day, with a partition that this process has seen. */
const seen = new WeakMap<Db, Set<string>>()

/** First day of a month in UTC, such as `2026-11-01`. @param ahead number of months after the instant's month */
function monthOf(instant: number, ahead = 0): string {
  const at = new Date(instant)
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + ahead, 1)).toISOString().slice(0, 10)
}

/**
 * Makes the partitions for records of these instants. Safe to run twice, and concurrently. Free if this process has
 * seen the partitions before.
 *
 * @param instants in epoch milliseconds
 * @returns names of the partitions that were made
 */
export async function partitionsFor(store: Store, instants: readonly number[]): Promise<string[]> {
  // Its records are in a temporary table, which has no partitions.
  if (store.isReplay === true) return []
  const known = seen.get(store.db) ?? new Set()
  seen.set(store.db, known)
  const days = new Set(instants.map((instant) => Math.floor(instant / DAY_MS)))
  const months = [...new Set([...days].map((day) => monthOf(day * DAY_MS)))]
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

/** Makes missing partitions from the previous month to three months ahead. @returns names of the new ones */
export const partitionsAhead = (store: Store): Promise<string[]> =>
  partitionsFor(
    store,
    MONTHS.map((ahead) => Date.parse(monthOf(store.clock(), ahead))),
  )

/** How many months after this one have a partition, up to the first gap. Three if all is well. */
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
