/** Reads whole lists page by page. A page has its own transaction, to keep memory and locks small. */
import { type RawBuilder, sql } from 'kysely'
import type { Place } from '../domain/cursor.ts'
import { continuing, inTenant, mine, type Store, type TenantTx } from './tenancy.ts'

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
 * The limit or offset of a page's statement, hidden from PostgreSQL's planner. The planner then expects to need a tenth
 * of the rows, and walks an index in the order of the list. With a known limit and old statistics it takes a long list
 * for less than a page: it reads and sorts the whole list for each page.
 */
export const pageLimit = (rows: number): RawBuilder<unknown> => sql`(select ${rows}::bigint)`

/** The id that sorts a list, with the alias of its table. An index begins with the tenant and this id. */
type ListId = `${string}.${'id' | 'sim_id'}`

/** The order of a list of a tenant's rows by id. */
export const byKey = (id: ListId): RawBuilder<unknown> =>
  sql`${sql.ref(id.replace(/\w+$/, 'tenant_id'))}, ${sql.ref(id)}`

/** Greater than each id. */
const END = sql.lit(Number.MAX_SAFE_INTEGER)

/**
 * Condition: the tenant's rows after an id and through another, for a list {@link byKey}.
 *
 * With `tenant_id = …` an index by id alone has the order of the list too. PostgreSQL reads it if by its statistics the
 * tenant is a large one, and with it the rows of other tenants: there may be millions (decision 70). A comparison of
 * rows is as fast; one of each column, four times slower.
 *
 * @param after a number, or a column of one
 * @param through omitted: all
 */
export const mineAfter = (
  id: ListId,
  after: number | RawBuilder<unknown>,
  through: number | RawBuilder<unknown> = END,
): RawBuilder<unknown> => {
  const place = (at: number | RawBuilder<unknown>) => (typeof at === 'number' ? sql`${at}::bigint` : at)
  return sql`(${byKey(id)}) > (${mine}, ${place(after)}) and (${byKey(id)}) <= (${mine}, ${place(through)})`
}

/** Condition: all of the tenant's rows, for a list {@link byKey}. */
export const mineByKey = (id: ListId): RawBuilder<unknown> => mineAfter(id, sql.lit(0))

/**
 * Condition for all of the tenant's rows of a partial index, in no order. PostgreSQL takes them for few, and so reads
 * the index that begins with the tenant, not one of the same rows of all tenants. Costs more a row than `=`.
 */
export const fewOfMine = (tenant: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`${tenant} between ${mine} and ${mine}`

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
