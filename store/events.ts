/** The event log: a tenant's own events, and the platform's, which every tenant sees. */
import { type RawBuilder, sql } from 'kysely'
import type { Event, EventQuery, NewEvent } from '../domain/event.ts'
import { type Page, pageRequest, toPage } from '../domain/page.ts'
import { type Instant, instantOf, KEYSET_PAGE, keysetPages, olderThan, placeAfter } from './keyset.ts'
import { containing, readPage, within } from './paging.ts'
import type { PlatformTx, Store, TenantTx } from './tenancy.ts'

type EventRow = Omit<Event, 'date'> & { readonly at: Date }

const toEvent = ({ at, ...row }: EventRow): Event => ({ ...row, date: at.toISOString() })

function matching({ type, severity, searchTerm, date }: EventQuery): RawBuilder<unknown> {
  const term = searchTerm === undefined ? undefined : containing(searchTerm)
  return sql`
    ${type === undefined ? sql`` : sql`and type = ${type}`}
    ${severity === undefined ? sql`` : sql`and severity = ${severity}`}
    ${term === undefined ? sql`` : sql`and (title ilike ${term} or description ilike ${term})`}
    ${within(sql`at`, date)}`
}

/**
 * Reads a page of the events, newest first.
 *
 * @throws ServiceError invalid_request if `date` is not a day of the calendar
 */
export async function pageOfEvents(tx: TenantTx, query: EventQuery): Promise<Page<Event>> {
  const page = pageRequest(query)
  const { rows, totalItems } = await readPage<EventRow>(
    tx,
    {
      columns: sql`id, type, severity, title, description, at`,
      from: sql`
        from events
       where true ${matching(query)}`,
      orderBy: sql`at desc, id desc`,
    },
    page,
  )
  return toPage(page, totalItems, rows.map(toEvent))
}

/**
 * Reads all events, newest first, page by page. The tenant's and the platform's are read separately, because the index
 * sorts each of them.
 */
export const listEvents = (store: Store, tenantId: string, query: EventQuery): AsyncGenerator<Event[]> =>
  keysetPages(store, tenantId, async (tx, after: Instant | null) => {
    const newest = (owner: RawBuilder<unknown>) => sql`(
      select id, type, severity, title, description, at, at::text as place
        from events
       where ${owner} ${olderThan(sql`at`, after)} ${matching(query)}
       order by at desc, id desc limit ${KEYSET_PAGE})`
    const { rows } = await sql<EventRow & Instant>`
      select id, type, severity, title, description, at, place
        from (${newest(sql`tenant_id = ${tx.tenantId}`)} union all ${newest(sql`tenant_id is null`)}) e
       order by at desc, id desc limit ${KEYSET_PAGE}`.execute(tx.q)
    return { items: rows.map(({ place: _, ...row }) => toEvent(row)), next: placeAfter(rows, instantOf) }
  })

/** Reads one event; undefined if the tenant cannot see one with this id. */
export async function findEvent(tx: TenantTx, id: number): Promise<Event | undefined> {
  const { rows } = await sql<EventRow>`
    select id, type, severity, title, description, at from events where id = ${id}`.execute(tx.q)
  return rows[0] && toEvent(rows[0])
}

/** Writes an event of this tenant, dated at the transaction's instant. */
export const insertEvent = (tx: TenantTx, event: NewEvent): Promise<void> => insertEvents(tx, [event])

/** Writes events of this tenant, dated at the transaction's instant. One statement, whatever their number. */
export async function insertEvents(tx: TenantTx, events: readonly NewEvent[]): Promise<void> {
  if (events.length === 0) return
  await sql`
    insert into events (tenant_id, type, severity, title, description, at)
    select ${tx.tenantId}, e.type, e.severity, e.title, e.description, ${tx.now}::timestamptz
      from jsonb_to_recordset(${JSON.stringify(events)}::jsonb)
        as e(type smallint, severity smallint, title text, description text)`.execute(tx.q)
}

/** Writes an event of the platform, which every tenant sees. */
export async function insertPlatformEvent(tx: PlatformTx, event: NewEvent): Promise<void> {
  await sql`
    insert into events (tenant_id, type, severity, title, description, at)
    values (null, ${event.type}, ${event.severity}, ${event.title}, ${event.description}, ${tx.now})`.execute(tx.q)
}
