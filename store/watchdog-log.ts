/** Reading the watchdog log. It is written with the alerts it tells of. */
import { sql } from 'kysely'
import type { LogLevel } from '../domain/codes.ts'
import { type Page, pageRequest, toPage } from '../domain/page.ts'
import type { WatchdogLogEntry, WatchdogLogQuery } from '../domain/watchdog-log.ts'
import { containing, readPage, within } from './paging.ts'
import type { TenantTx } from './tenancy.ts'

interface LogRow {
  readonly id: number
  readonly sim_id: number | null
  readonly pool_id: number | null
  readonly level: LogLevel
  readonly message: string
  readonly at: Date
}

const toEntry = (row: LogRow): WatchdogLogEntry => ({
  id: row.id,
  simId: row.sim_id,
  poolId: row.pool_id,
  level: row.level,
  message: row.message,
  date: row.at.toISOString(),
})

/** A page of the log, newest first. */
export async function pageOfLog(tx: TenantTx, query: WatchdogLogQuery): Promise<Page<WatchdogLogEntry>> {
  const page = pageRequest(query)
  const { rows, totalItems } = await readPage<LogRow>(
    tx,
    {
      columns: sql`id, sim_id, pool_id, level, message, at`,
      from: sql`
        from watchdog_log
       where tenant_id = ${tx.tenantId}
         ${query.simId === undefined ? sql`` : sql`and sim_id = ${query.simId}`}
         ${query.poolId === undefined ? sql`` : sql`and pool_id = ${query.poolId}::bigint`}
         ${query.level === undefined ? sql`` : sql`and level = ${query.level}`}
         ${query.searchTerm === undefined ? sql`` : sql`and message ilike ${containing(query.searchTerm)}`}
         ${within(sql`at`, query.date)}`,
      orderBy: sql`at desc, id desc`,
    },
    page,
  )
  return toPage(page, totalItems, rows.map(toEntry))
}
