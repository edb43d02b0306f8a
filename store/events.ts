/** The event log: a tenant's own events, and the platform's, visible to every tenant. */
import { type RawBuilder, sql } from 'kysely'
import type { Place } from '../domain/cursor.ts'
import type { Event, EventQuery, NewEvent } from '../domain/event.ts'
import { pageRequest } from '../domain/page.ts'
import { ahead, kept } from './kept.ts'
import { KEYSET_PAGE, keysetPages, microsOf, olderThan, pageLimit, placeAfter, placeOf } from './keyset-pages.ts'
import { type Part, readPage, readPart, searched, within } from './paging.ts'
import { mine, type PlatformTx, type Store, type TenantTx } from './tenancy.ts'

type EventRow = Omit<Event, 'date'> & { readonly at: Date }

const columns = sql`id, type, severity, title, description, at, ${microsOf(sql`at`)}`

const toEvent = ({ at, ...row }: EventRow): Event => ({ ...row, date: at.toISOString() })
const toItem = ({ micros: _, ...row }: EventRow & Place): Event => toEvent(row)

function matching({ type, severity, searchTerm, date }: EventQuery): RawBuilder<unknown> {
  return sql`
    ${type === undefined ? sql`` : sql`and type = ${type}`}
    ${severity === undefined ? sql`` : sql`and severity = ${severity}`}
    ${searchTerm === undefined ? sql`` : sql`and ${searched(['title', 'description'], searchTerm)}`}
    ${within(sql`at`, date)}`
}

/** The first events after a place, the tenant's and the platform's apart: the index sorts each of them. */
async function eventsAfter(tx: TenantTx, query: EventQuery, after: Place | null, most: number) {
  const newest = (owner: RawBuilder<unknown>) => sql`(
    select ${columns} from events
     where ${owner} ${olderThan(sql`at`, after)} ${matching(query)}
     order by at desc, id desc limit ${pageLimit(most)})`
  const { rows } = await sql<EventRow & Place>`
    select * from (${newest(sql`tenant_id = ${mine}`)} union all ${newest(sql`tenant_id is null`)}) e
     order by at desc, id desc limit ${pageLimit(most)}`.execute(tx.q)
  return rows
}

/** Reads a page of events, newest first, or the part after a cursor. @throws ServiceError if that or `date` is wrong */
export function pageOfEvents(tx: TenantTx, query: EventQuery): Promise<Part<Event>> {
  const page = pageRequest(query)
  const from = sql`from events where (tenant_id = ${mine} or tenant_id is null) ${matching(query)}`
  return readPart<EventRow & Place, Event>(
    'events',
    { page, cursor: query.cursor },
    {
      page: () => readPage<EventRow & Place>(tx, { columns, from, orderBy: sql`at desc, id desc` }, page),
      after: (place, most) => eventsAfter(tx, query, place, most),
      placeOf,
      show: (rows) => rows.map(toItem),
    },
  )
}

/** Reads all events, newest first, page by page. */
export const listEvents = (store: Store, tenantId: string, query: EventQuery): AsyncGenerator<Event[]> =>
  keysetPages(store, tenantId, async (tx, after: Place | null) => {
    const rows = await eventsAfter(tx, query, after, KEYSET_PAGE)
    return { items: rows.map(toItem), next: placeAfter(rows, placeOf) }
  })

/** Reads one event; undefined if the tenant cannot see one with this id. */
export async function findEvent(tx: TenantTx, id: number): Promise<Event | undefined> {
  const { rows } = await sql<EventRow>`
    select id, type, severity, title, description, at from events where id = ${id}`.execute(tx.q)
  return rows[0] && toEvent(rows[0])
}

/** Writes an event of this tenant, dated at the transaction's instant. */
export const insertEvent = (tx: TenantTx, event: NewEvent): Promise<void> => insertEvents(tx, [event])

/** Writes events of this tenant, or of the platform, in one statement, dated at the transaction's instant. */
export async function insertEvents(tx: TenantTx | PlatformTx, events: readonly NewEvent[]): Promise<void> {
  if (events.length === 0) return
  await sql`${kept}${ahead}
    insert into events (tenant_id, type, severity, title, description, at)
    select ${'tenantId' in tx ? tx.tenantId : null}, e.type, e.severity, e.title, e.description, ${tx.now}::timestamptz
      from jsonb_to_recordset(${JSON.stringify(events)}::jsonb)
        as e(type smallint, severity smallint, title text, description text)`.execute(tx.q)
}
