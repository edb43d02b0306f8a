/** Reads the watchdog log. Entries are written together with the alerts that they describe. */
import { type RawBuilder, sql } from 'kysely'
import type { WatchdogLogEntry, WatchdogLogQuery } from '../../../domain/alerts/watchdog-log-entry.ts'
import type { Place } from '../../../domain/cursor.ts'
import { pageRequest } from '../../../domain/page.ts'
import {
  KEYSET_PAGE,
  keysetPages,
  microsOf,
  olderThan,
  pageLimit,
  placeAfter,
  placeOf,
} from '../../../store/keyset-pages.ts'
import { type Part, readPage, readPart, searched, within } from '../../../store/paging.ts'
import { mine, type Store, type TenantTx } from '../../../store/tenancy.ts'

type LogRow = Omit<WatchdogLogEntry, 'date'> & Place & { readonly at: Date }

const columns = sql`id, sim_id as "simId", pool_id as "poolId", level, message, at, ${microsOf(sql`at`)}`

const toEntry = ({ at, micros: _, ...row }: LogRow): WatchdogLogEntry => ({ ...row, date: at.toISOString() })

const matching = ({ simId, poolId, level, searchTerm, date }: WatchdogLogQuery): RawBuilder<unknown> => sql`
  ${simId === undefined ? sql`` : sql`and sim_id = ${simId}`}
  ${poolId === undefined ? sql`` : sql`and pool_id = ${poolId}::bigint`}
  ${level === undefined ? sql`` : sql`and level = ${level}`}
  ${searchTerm === undefined ? sql`` : sql`and ${searched(['message'], searchTerm)}`}
  ${within(sql`at`, date)}`

async function logAfter(tx: TenantTx, query: WatchdogLogQuery, after: Place | null, most: number): Promise<LogRow[]> {
  const { rows } = await sql<LogRow>`
    select ${columns} from watchdog_log
     where tenant_id = ${mine} ${olderThan(sql`at`, after)} ${matching(query)}
     order by at desc, id desc limit ${pageLimit(most)}`.execute(tx.q)
  return rows
}

/** A page of the log, newest first, or after a cursor. @throws ServiceError `invalid_request`: wrong date or cursor */
export function pageOfLog(tx: TenantTx, query: WatchdogLogQuery): Promise<Part<WatchdogLogEntry>> {
  const page = pageRequest(query)
  const from = sql`from watchdog_log where tenant_id = ${mine} ${matching(query)}`
  return readPart<LogRow, WatchdogLogEntry>(
    'log',
    { page, cursor: query.cursor },
    {
      page: () => readPage<LogRow>(tx, { columns, from, orderBy: sql`at desc, id desc` }, page),
      after: (place, most) => logAfter(tx, query, place, most),
      placeOf,
      show: (rows) => rows.map(toEntry),
    },
  )
}

/** Reads all entries of the log, newest first, page by page. */
export const listLog = (store: Store, tenantId: string, query: WatchdogLogQuery): AsyncGenerator<WatchdogLogEntry[]> =>
  keysetPages(store, tenantId, async (tx, after: Place | null) => {
    const rows = await logAfter(tx, query, after, KEYSET_PAGE)
    return { items: rows.map(toEntry), next: placeAfter(rows, placeOf) }
  })
