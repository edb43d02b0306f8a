/** Reads whole lists page by page. A page has its own transaction, to keep memory and locks small. */
import { type RawBuilder, sql } from 'kysely'
import type { Place } from '../domain/cursor.ts'
import { continuing, inTenant, type Store, type TenantTx } from './tenancy.ts'

/** Most rows of a page. Making the response of them blocks a process for some 5 ms. */
export const KEYSET_PAGE = 250

interface KeysetPage<Item, Place> {
  readonly items: Item[]
  /** Null on the last page. */
  readonly next: Place | null
}

/** Yields the non-empty pages of a list, at the caller's pace. @param read the page after a place; null: the first */
export async function* keysetPages<Item, Place>(
  store: Store,
  tenantId: string,
  read: (tx: TenantTx, after: Place | null) => Promise<KeysetPage<Item, Place>>,
): AsyncGenerator<Item[]> {
  let place: Place | null = null
  do {
    const after: Place | null = place
    // A refusal would cut off a begun response.
    const at = after === null ? store : continuing(store)
    const page: KeysetPage<Item, Place> = await inTenant(at, tenantId, (tx) => read(tx, after))
    if (page.items.length > 0) yield page.items
    place = page.next
  } while (place !== null)
}

/**
 * The limit of a page's statement, hidden from PostgreSQL's planner. The planner then expects to need a tenth of the
 * rows, and walks an index in the order of the list. With a known limit and old statistics it takes a long list for
 * less than a page: it reads and sorts the whole list for each page.
 */
export const pageLimit = (most: number): RawBuilder<unknown> => sql`(select ${most}::bigint)`

/** Place after which the next page starts; null if these rows were the last. */
export const placeAfter = <Row, Place>(rows: readonly Row[], placeOf: (row: Row) => Place): Place | null => {
  const last = rows.at(-1)
  return rows.length < KEYSET_PAGE || last === undefined ? null : placeOf(last)
}

/** The columns of a {@link Place} in a list sorted by this column and by id. The list's rows have the id anyway. */
export const microsOf = (at: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`(extract(epoch from ${at}) * 1000000)::bigint as micros`

/** Takes the {@link Place} out of a row that contains one. */
export const placeOf = ({ micros, id }: Place): Place => ({ micros, id })

/** Condition: rows after a place, in a list sorted by this column and by id, newest first. */
export const olderThan = (at: RawBuilder<unknown>, after: Place | null): RawBuilder<unknown> =>
  after === null ? sql`` : sql`and (${at}, id) < (${instantOf(after)}::timestamptz, ${after.id}::bigint)`

/** The instant of a place, with its microseconds: a Date would drop them. */
function instantOf({ micros }: Place): string {
  const ms = new Date(Math.floor(micros / 1000)).toISOString().slice(0, -1)
  return `${ms}${String(micros % 1000).padStart(3, '0')}Z`
}
