/** Reads the watchdog log. Entries are written together with the alerts that they describe. */
import { type RawBuilder, sql } from 'kysely'
import { type Page, pageRequest, toPage } from '../../domain/page.ts'
import type { WatchdogLogEntry, WatchdogLogQuery } from '../../domain/watchdog/log-entry.ts'
import { type Instant, instantOf, KEYSET_PAGE, keysetPages, olderThan, placeAfter } from '../keyset.ts'
import { containing, readPage, within } from '../paging.ts'
import type { Store, TenantTx } from '../tenancy.ts'

type LogRow = Omit<WatchdogLogEntry, 'date'> & { readonly at: Date }

const columns = sql`id, sim_id as "simId", pool_id as "poolId", level, message, at`

const toEntry = ({ at, ...row }: LogRow): WatchdogLogEntry => ({ ...row, date: at.toISOString() })

const matching = ({ simId, poolId, level, searchTerm, date }: WatchdogLogQuery): RawBuilder<unknown> => sql`
  ${simId === undefined ? sql`` : sql`and sim_id = ${simId}`}
  ${poolId === undefined ? sql`` : sql`and pool_id = ${poolId}::bigint`}
  ${level === undefined ? sql`` : sql`and level = ${level}`}
  ${searchTerm === undefined ? sql`` : sql`and message ilike ${containing(searchTerm)}`}
  ${within(sql`at`, date)}`

/**
 * Reads a page of the log, newest first.
 *
 * @throws ServiceError invalid_request if `date` is not a day of the calendar
 */
export async function pageOfLog(tx: TenantTx, query: WatchdogLogQuery): Promise<Page<WatchdogLogEntry>> {
  const page = pageRequest(query)
  const { rows, totalItems } = await readPage<LogRow>(
    tx,
    {
      columns,
      from: sql`from watchdog_log where tenant_id = ${tx.tenantId} ${matching(query)}`,
      orderBy: sql`at desc, id desc`,
    },
    page,
  )
  return toPage(page, totalItems, rows.map(toEntry))
}

/** Reads all entries of the log, newest first, page by page. */
export const listLog = (store: Store, tenantId: string, query: WatchdogLogQuery): AsyncGenerator<WatchdogLogEntry[]> =>
  keysetPages(store, tenantId, async (tx, after: Instant | null) => {
    const { rows } = await sql<LogRow & Instant>`
      select ${columns}, at::text as place
        from watchdog_log
       where tenant_id = ${tx.tenantId} ${olderThan(sql`at`, after)} ${matching(query)}
       order by at desc, id desc limit ${KEYSET_PAGE}`.execute(tx.q)
    return { items: rows.map(({ place: _, ...row }) => toEntry(row)), next: placeAfter(rows, instantOf) }
  })
