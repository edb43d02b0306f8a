/** Reads one page of a list together with the size of the whole list, and has the filters that lists share. */
import { type RawBuilder, sql } from 'kysely'
import { type Cursor, cursorText, type Place, readCursor, type WalkedList } from '../domain/cursor.ts'
import { ServiceError } from '../domain/errors.ts'
import { digitsIn } from '../domain/identifiers.ts'
import { offsetOf, type Page, type PageRequest, spanOf, toPage } from '../domain/page.ts'
import { kept } from './kept.ts'
import type { PlatformTx, TenantTx } from './tenancy.ts'

export interface PagedSelect {
  readonly columns: RawBuilder<unknown>
  /** The clauses from `from` on, including filters. */
  readonly from: RawBuilder<unknown>
  /** Names of result columns: they sort both the page and the final result. */
  readonly orderBy: RawBuilder<unknown>
  /** The same order by the columns of an index that begins with the tenant. Omitted: no other index has the order. */
  readonly walkBy?: RawBuilder<unknown>
}

/** Columns that the statement adds to each row of the page. */
interface CountColumns {
  readonly present: true | null
  readonly totalItems: number
}

/** Reads a page and counts the list in one statement. A page past the end has the right total too. */
export async function readPage<Row>(
  tx: TenantTx | PlatformTx,
  { columns, from, orderBy, walkBy = orderBy }: PagedSelect,
  page: PageRequest,
): Promise<{ rows: Omit<Row & CountColumns, keyof CountColumns>[]; totalItems: number }> {
  const { rows } = await sql<Row & CountColumns>`
    with counted as (
      select count(*)::integer as "totalItems" ${from}
    ), page as (
      select true as present, ${columns} ${from} order by ${walkBy} limit ${page.pageSize} offset ${offsetOf(page)}
    )
    select counted."totalItems", page.* from counted left join page on true order by ${orderBy}`.execute(tx.q)
  return {
    rows: rows.flatMap(({ present, totalItems: _, ...row }) => (present === true ? [row] : [])),
    totalItems: rows[0]?.totalItems ?? 0,
  }
}

/**
 * Reads the rows of a page and the size of the list in one kept statement (kept.ts).
 *
 * @param rows select of the page, with an `id` that orders it
 * @param total number of rows of the whole list
 */
export async function readFound<Row extends { readonly id: number }>(
  tx: TenantTx,
  rows: RawBuilder<unknown>,
  total: RawBuilder<unknown>,
): Promise<{ rows: Row[]; totalItems: number }> {
  type Found = Row & { readonly totalItems: number }
  const found = await sql<Found | { readonly id: null; readonly totalItems: number }>`${kept}
    select list."totalItems", page.*
      from (select ${total} as "totalItems") list left join (${rows}) page on true order by page.id`.execute(tx.q)
  const isFound = (row: (typeof found.rows)[number]): row is Found => row.id !== null
  return { rows: found.rows.filter(isFound), totalItems: found.rows[0]?.totalItems ?? 0 }
}

/** A page, or the part of a list after a cursor, in the same envelope. */
export interface Part<T> extends Page<T> {
  /** The cursor of the next part; null at the end of the list. */
  readonly next: string | null
}

interface WalkedReads<Row, Item> {
  readonly page: () => Promise<{ readonly rows: readonly Row[]; readonly totalItems: number }>
  /** At most `most` rows after a place, in the order of the list. `totalItems` is its size when the walk began. */
  readonly after: (place: Place, most: number, totalItems: number) => Promise<readonly Row[]>
  readonly placeOf: (row: Row) => Place
  readonly show: (rows: readonly Row[]) => Item[] | Promise<Item[]>
}

/**
 * Reads a page, or the part after a cursor.
 *
 * The part after a cursor is not counted. Its envelope continues the first page of the walk, with the total of that
 * page. It is read whether more follows.
 *
 * @throws ServiceError invalid_request if the cursor is none of this list
 */
export async function readPart<Row, Item>(
  list: WalkedList,
  { page, cursor }: { readonly page: PageRequest; readonly cursor: string | undefined },
  reads: WalkedReads<Row, Item>,
): Promise<Part<Item>> {
  const nextAfter = (rows: readonly Row[], parts: number, totalItems: number) => {
    const last = rows.at(-1)
    return last === undefined ? null : cursorText(list, { after: reads.placeOf(last), parts, totalItems })
  }
  if (cursor === undefined) {
    const { rows, totalItems } = await reads.page()
    const whole = toPage(page, totalItems, await reads.show(rows))
    return { ...whole, next: whole.pagination.hasNextPage ? nextAfter(rows, page.page, totalItems) : null }
  }
  const { after, parts, totalItems } = readCursor(list, cursor)
  const found = await reads.after(after, page.pageSize + 1, totalItems)
  const rows = found.slice(0, page.pageSize)
  const hasNextPage = found.length > rows.length
  const { data, pagination } = toPage({ ...page, page: parts + 1 }, totalItems, await reads.show(rows))
  return {
    data,
    pagination: { ...pagination, hasNextPage, hasPreviousPage: parts > 0 },
    next: hasNextPage ? nextAfter(rows, parts + 1, totalItems) : null,
  }
}

interface LookedAt<T> {
  readonly data: T[]
  /** Rows among those looked at that the filter lets through. */
  readonly fitting: number
  /** Id of the last row of this part; null at the end of the list. */
  readonly nextId: number | null
}

/**
 * A part of a list by id whose statement looks at a limited number of rows. So a part may have less than a page of
 * items while another follows. The total is that of the first part.
 *
 * @param cursor null: the part is a page
 */
export function partLookedAt<T>(
  list: WalkedList,
  page: PageRequest,
  cursor: Cursor | null,
  { data, fitting, nextId }: LookedAt<T>,
): Part<T> {
  const parts = cursor === null ? page.page : cursor.parts + 1
  const totalItems = cursor === null ? fitting : cursor.totalItems
  const { pagination } = toPage({ ...page, page: parts }, totalItems, data)
  const next = nextId === null ? null : cursorText(list, { after: { micros: 0, id: nextId }, parts, totalItems })
  return { data, pagination: { ...pagination, hasNextPage: next !== null, hasPreviousPage: parts > 1 }, next }
}

/**
 * The texts that a search looks for: its term without white space around it and, of a number in groups, the number too.
 * A tag may have those groups, an ICCID has none.
 */
export function textsOf(term: string): readonly string[] {
  const text = term.trim() || term
  const digits = digitsIn(text) ?? text
  return digits === text ? [text] : [text, digits]
}

/** A LIKE pattern that matches all that contains this text. `%`, `_` and `\` are escaped. */
export const containing = (text: string): string => `%${text.replace(/[\\%_]/g, '\\$&')}%`

/** Condition: one of the columns has the searched text, in upper or lower case. */
export const searched = (columns: readonly string[], term: string): RawBuilder<unknown> => {
  const each = textsOf(term).flatMap((text) =>
    columns.map((column) => sql`${sql.ref(column)} ilike ${containing(text)}`),
  )
  return sql`(${sql.join(each, sql` or `)})`
}

/** A `date` filter on a column. @throws ServiceError invalid_request if `date` is not a day of the calendar */
export function within(column: RawBuilder<unknown>, date: string | undefined): RawBuilder<unknown> {
  if (date === undefined) return sql``
  const span = spanOf(date)
  if (span === undefined) {
    throw new ServiceError('invalid_request', `date: ${date} is no day of the calendar`, {
      errors: [{ parameter: 'date', detail: 'is no day of the calendar' }],
    })
  }
  return span.to === null
    ? sql`and ${column} >= ${span.from}`
    : sql`and ${column} >= ${span.from} and ${column} < ${span.to}`
}
