/** The event log: a tenant's events, and the platform's, which every tenant sees. */
import { sql } from 'kysely'
import type { EventSeverity, EventType } from '../domain/codes.ts'
import type { Event, EventQuery, NewEvent } from '../domain/event.ts'
import { type Page, pageRequest, toPage } from '../domain/page.ts'
import { containing, readPage, within } from './paging.ts'
import type { PlatformTx, TenantTx } from './tenancy.ts'

interface EventRow {
  readonly id: number
  readonly type: EventType
  readonly severity: EventSeverity
  readonly title: string
  readonly description: string
  readonly at: Date
}

const toEvent = (row: EventRow): Event => ({
  id: row.id,
  type: row.type,
  severity: row.severity,
  title: row.title,
  description: row.description,
  date: row.at.toISOString(),
})

/** A page of the events, newest first. */
export async function pageOfEvents(tx: TenantTx, query: EventQuery): Promise<Page<Event>> {
  const page = pageRequest(query)
  const term = query.searchTerm === undefined ? undefined : containing(query.searchTerm)
  const { rows, totalItems } = await readPage<EventRow>(
    tx,
    {
      columns: sql`id, type, severity, title, description, at`,
      from: sql`
        from events
       where true
         ${query.type === undefined ? sql`` : sql`and type = ${query.type}`}
         ${query.severity === undefined ? sql`` : sql`and severity = ${query.severity}`}
         ${term === undefined ? sql`` : sql`and (title ilike ${term} or description ilike ${term})`}
         ${within(sql`at`, query.date)}`,
      orderBy: sql`at desc, id desc`,
    },
    page,
  )
  return toPage(page, totalItems, rows.map(toEvent))
}

/** One event. */
export async function findEvent(tx: TenantTx, id: number): Promise<Event | undefined> {
  const { rows } = await sql<EventRow>`
    select id, type, severity, title, description, at from events where id = ${id}`.execute(tx.q)
  return rows[0] && toEvent(rows[0])
}

/** Writes an event of this tenant, at the transaction's instant. */
export async function insertEvent(tx: TenantTx, event: NewEvent): Promise<void> {
  await sql`
    insert into events (tenant_id, type, severity, title, description, at)
    values (${tx.tenantId}, ${event.type}, ${event.severity}, ${event.title}, ${event.description}, ${tx.now})`.execute(
    tx.q,
  )
}

/** Writes an event of the platform: every tenant sees it. */
export async function insertPlatformEvent(tx: PlatformTx, event: NewEvent): Promise<void> {
  await sql`
    insert into events (tenant_id, type, severity, title, description, at)
    values (null, ${event.type}, ${event.severity}, ${event.title}, ${event.description}, ${tx.now})`.execute(tx.q)
}
