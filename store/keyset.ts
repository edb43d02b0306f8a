/** Lists read whole: page by page, each page in a transaction of its own, so that memory and locks stay small. */
import { type RawBuilder, sql } from 'kysely'
import { inTenant, type Store, type TenantTx } from './tenancy.ts'

/** Rows of a page. */
export const KEYSET_PAGE = 1000

interface KeysetPage<Item, Place> {
  readonly items: Item[]
  /** Null on the last page. */
  readonly next: Place | null
}

/**
 * All pages of a list, however slowly they are taken. What is written meanwhile may be in it or not.
 *
 * @param read reads the page after a place in the list; null: the first
 */
export async function* keysetPages<Item, Place>(
  store: Store,
  tenantId: string,
  read: (tx: TenantTx, after: Place | null) => Promise<KeysetPage<Item, Place>>,
): AsyncGenerator<Item[]> {
  let place: Place | null = null
  do {
    const after: Place | null = place
    const page: KeysetPage<Item, Place> = await inTenant(store, tenantId, (tx) => read(tx, after))
    if (page.items.length > 0) yield page.items
    place = page.next
  } while (place !== null)
}

/** Where the page after these rows begins; null where they were the last. */
export const placeAfter = <Row, Place>(rows: readonly Row[], placeOf: (row: Row) => Place): Place | null => {
  const last = rows.at(-1)
  return rows.length < KEYSET_PAGE || last === undefined ? null : placeOf(last)
}

/** A place in a list that is sorted by time, newest first, and by id. */
export interface Instant {
  /** As text, because a Date drops the microseconds. */
  readonly place: string
  readonly id: number
}

/** Of rows that have {@link Instant}s in them. */
export const instantOf = ({ place, id }: Instant): Instant => ({ place, id })

/** What comes after a place in a list that is sorted by this column, newest first, and by id. */
export const olderThan = (at: RawBuilder<unknown>, after: Instant | null): RawBuilder<unknown> =>
  after === null ? sql`` : sql`and (${at}, id) < (${after.place}::timestamptz, ${after.id}::bigint)`
