/** Reads one page of a list together with the size of the whole list, and has the filters that lists share. */
import { type RawBuilder, sql } from 'kysely'
import { ServiceError } from '../domain/errors.ts'
import { offsetOf, type PageRequest, spanOf } from '../domain/page.ts'
import type { PlatformTx, TenantTx } from './tenancy.ts'

/** The parts of a paged select. */
export interface PagedSelect {
  readonly columns: RawBuilder<unknown>
  /** The clauses from `from` on, including filters. */
  readonly from: RawBuilder<unknown>
  /** Names of result columns: they sort both the page and the final result. */
  readonly orderBy: RawBuilder<unknown>
}

/** Columns that the statement adds to each row of the page. */
interface Counted {
  readonly present: true | null
  readonly totalItems: number
}

/**
 * Reads a page and counts the list in one statement. The count is joined to the page, so that a page past the end has
 * the right total too.
 */
export async function readPage<Row>(
  tx: TenantTx | PlatformTx,
  { columns, from, orderBy }: PagedSelect,
  page: PageRequest,
): Promise<{ rows: Omit<Row & Counted, keyof Counted>[]; totalItems: number }> {
  const { rows } = await sql<Row & Counted>`
    with counted as (
      select count(*)::integer as "totalItems" ${from}
    ), page as (
      select true as present, ${columns} ${from} order by ${orderBy} limit ${page.pageSize} offset ${offsetOf(page)}
    )
    select counted."totalItems", page.* from counted left join page on true order by ${orderBy}`.execute(tx.q)
  return {
    rows: rows.flatMap(({ present, totalItems: _, ...row }) => (present === true ? [row] : [])),
    totalItems: rows[0]?.totalItems ?? 0,
  }
}

/** A LIKE pattern that matches all that contains this text. `%`, `_` and `\` are escaped. */
export const containing = (text: string): string => `%${text.replace(/[\\%_]/g, '\\$&')}%`

/**
 * A `date` filter on a column; empty without a date.
 *
 * @throws ServiceError invalid_request if `date` is not a day of the calendar
 */
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
