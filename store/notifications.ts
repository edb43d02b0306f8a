/** Notifications: facts for the channels. Notices wait to be mailed; events leave for the endpoints at once. */
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { LogLevel } from '../domain/codes.ts'
import type { WebhookEvent } from '../domain/notifications/event.ts'
import type { Notification } from '../domain/notifications/notification.ts'
import { mine, type TenantTx } from './tenancy.ts'

/** A notice to mail. */
export interface NewNotice {
  /** Its key is that of the telling. A tenant gets at most one notice a key. */
  readonly body: Notification
  /** When it may be mailed; grouped notices wait for others. */
  readonly dueAt: Date
}

export type NewNotification = NewNotice | WebhookEvent

/**
 * Writes notifications in the transaction of the facts that they report, each for its channel. Call it once for each
 * event. A notice whose key already exists is skipped.
 *
 * Events wait only for the removal of an endpoint. The tenant's row of the work list of mails is written at the end of
 * the transaction. All transactions that notify share that row, so it is the last lock that any of them takes.
 */
export async function insertNotifications(tx: TenantTx, notifications: readonly NewNotification[]): Promise<void> {
  const notices = notifications.filter((one) => 'body' in one)
  const events = notifications.filter((one) => 'type' in one)
  await insertNotices(tx, notices)
  await insertEvents(tx, events)
}

async function insertNotices(tx: TenantTx, notices: readonly NewNotice[]): Promise<void> {
  if (notices.length === 0) return
  await sql`
    insert into notifications (dedupe_key, level, body, due_at, created_at)
    select body ->> 'key', (body ->> 'level')::smallint, body, "dueAt", ${tx.now}
      from jsonb_to_recordset(${JSON.stringify(notices)}::jsonb) as n(body jsonb, "dueAt" timestamptz)
     order by body ->> 'key'
    on conflict (tenant_id, dedupe_key) do nothing`.execute(tx.q)
  const at = new Date(Math.min(...notices.map(({ dueAt }) => dueAt.getTime())))
  tx.atEnd(() => mailDue(tx, at))
}

/** Writes events for the endpoints that want their types. */
async function insertEvents(tx: TenantTx, events: readonly WebhookEvent[]): Promise<void> {
  if (events.length === 0) return
  const { rows: webhooks } = await sql<{ id: number; events: string[] | null }>`
    select id, events from webhooks where tenant_id = ${mine} and disabled_at is null order by id
       for key share`.execute(tx.q)
  const wanting = (type: string) => webhooks.filter(({ events: types }) => types?.includes(type) ?? true)
  await insertDeliveries(
    tx,
    events.map((event) => ({ event, webhookIds: wanting(event.type).map(({ id }) => id) })),
  )
}

/**
 * Writes events with a delivery to each of some endpoints. An event without an endpoint is not written. Takes two
 * statements for any number.
 *
 * @returns the deliveries
 */
export async function insertDeliveries(
  tx: TenantTx,
  events: readonly { readonly event: WebhookEvent; readonly webhookIds: readonly number[] }[],
): Promise<{ id: number }[]> {
  const sent = events.flatMap(({ event: { type, data }, webhookIds }) => {
    if (webhookIds.length === 0) return []
    // In the form of Standard Webhooks.
    const body = JSON.stringify({ type, timestamp: tx.now, data })
    // Receivers recognise repeated events by this id: the header webhook-id.
    return [{ id: `msg_${randomUUID().replaceAll('-', '')}`, type, body, webhookIds }]
  })
  if (sent.length === 0) return []
  await sql`
    insert into webhook_events (id, type, body, at)
    select id, type, body, ${tx.now}::timestamptz
      from jsonb_to_recordset(${JSON.stringify(sent)}::jsonb) as e(id text, type text, body text)`.execute(tx.q)
  const deliveries = sent.flatMap(({ id, webhookIds }) => webhookIds.map((webhookId) => ({ id, webhookId })))
  const { rows } = await sql<{ id: number }>`
    insert into deliveries (webhook_id, event_id, tried_since, next_attempt_at, created_at)
    select "webhookId", id, ${tx.now}::timestamptz, ${tx.now}::timestamptz, ${tx.now}::timestamptz
      from unnest(${deliveries.map(({ webhookId }) => webhookId)}::integer[], ${deliveries.map(({ id }) => id)}::text[])
             with ordinality as d("webhookId", id, n)
     order by n
    returning id`.execute(tx.q)
  for (const webhookId of new Set(deliveries.map(({ webhookId }) => webhookId))) {
    tx.enqueue({ queue: 'webhooks', webhookId })
  }
  return rows
}

/** Replaces the body of a notification, by its key, unless it is in a mail. */
export async function rewriteNotification(tx: TenantTx, body: Notification): Promise<void> {
  await sql`
    update notifications set body = ${JSON.stringify(body)}::jsonb
     where tenant_id = ${mine} and dedupe_key = ${body.key} and mail_id is null`.execute(tx.q)
}

/**
 * Deletes outdated notifications that are in no mail yet.
 *
 * @returns the keys of the deleted ones
 */
export async function takeBackNotifications(tx: TenantTx, keys: readonly string[]): Promise<Set<string>> {
  if (keys.length === 0) return new Set()
  const { rows } = await sql<{ key: string }>`
    delete from notifications
     where tenant_id = ${mine} and mail_id is null and dedupe_key = any(${[...keys]}::text[])
    returning dedupe_key as key`.execute(tx.q)
  return new Set(rows.map(({ key }) => key))
}

export interface StoredNotification {
  readonly id: number
  readonly body: Notification
}

export interface WaitingNotification extends StoredNotification {
  readonly dueAt: Date
  readonly createdAt: Date
  /** Of the SIM or pool that it is about; null outside pools. */
  readonly poolId: number | null
  /** Of the SIM that it is about; null for other subjects. */
  readonly tag: string | null
}

/**
 * Notifications without a mail, locked. Critical ones come first, because there may be many others; then due ones; then
 * the oldest.
 *
 * Leaves out notifications locked by another transaction: it may delete them, and then needs the tenant's row of the
 * work list. The caller has locked this row.
 */
export async function waitingNotifications(tx: TenantTx, limit: number): Promise<WaitingNotification[]> {
  const { rows } = await sql<WaitingNotification>`
    with waiting as (
      select id, body, level, due_at, created_at,
             case body #>> '{subject,kind}' when 'sim' then (body #>> '{subject,id}')::bigint end as sim_id,
             case body #>> '{subject,kind}' when 'pool' then (body #>> '{subject,id}')::integer end as pool_id
        from notifications
       where tenant_id = ${mine} and mail_id is null
       order by level = ${LogLevel.Critical} desc, due_at <= ${tx.now} desc, id limit ${limit}
         for update skip locked
    )
    select n.id, n.body, n.due_at as "dueAt", n.created_at as "createdAt", s.tag, coalesce(n.pool_id, s.pool_id) as "poolId"
      from waiting n
      left join lateral (select tag, pool_id from sims where id = n.sim_id limit 1) s on true
     order by n.level = ${LogLevel.Critical} desc, n.id`.execute(tx.q)
  return rows
}

/** Puts off waiting notifications. */
export async function putOffNotifications(
  tx: TenantTx,
  until: readonly { readonly id: number; readonly at: number }[],
): Promise<void> {
  if (until.length === 0) return
  await sql`
    update notifications n set due_at = to_timestamp(u.at / 1000)
      from jsonb_to_recordset(${JSON.stringify(until)}::jsonb) as u(id bigint, at double precision)
     where n.id = u.id and n.mail_id is null`.execute(tx.q)
}

/** Makes due the notifications that wait until an instant. */
export async function resumeNotifications(tx: TenantTx, at: Date): Promise<void> {
  const { rows } = await sql`
    update notifications set due_at = ${tx.now}
     where tenant_id = ${mine} and mail_id is null and due_at = ${at} returning 1`.execute(tx.q)
  if (rows.length > 0) tx.atEnd(() => mailDue(tx, tx.now))
}

/** The notifications of a mail, oldest first. */
export async function notificationsOf(tx: TenantTx, mailId: string): Promise<StoredNotification[]> {
  const { rows } = await sql<StoredNotification>`
    select id, body from notifications where tenant_id = ${mine} and mail_id = ${mailId} order by id`.execute(tx.q)
  return rows
}

export async function mailDue(tx: TenantTx, at: Date): Promise<void> {
  await sql`
    insert into mail_work as w (due_at) values (${at})
    on conflict (tenant_id) do update set due_at = least(w.due_at, excluded.due_at)`.execute(tx.q)
  if (at <= tx.now) tx.enqueue({ queue: 'mail' })
}

/** When the latest grouped mail was made; null if there was none. */
export async function lastGroupedAt(tx: TenantTx): Promise<Date | null> {
  const { rows } = await sql<{ at: Date }>`
    select created_at as at from deliveries
     where tenant_id = ${mine} and mail_id is not null and kind = 'grouped' order by created_at desc limit 1`.execute(
    tx.q,
  )
  return rows[0]?.at ?? null
}
