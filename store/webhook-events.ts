/** Events for webhooks: written in the transaction of the fact, with a delivery for each endpoint. */
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { eventBody, type WebhookEvent } from '../domain/notifications/event.ts'
import { insertedId } from './inserted-id.ts'
import { mine, type TenantTx } from './tenancy.ts'

/**
 * Sends an event to the tenant's webhooks, once this transaction has committed.
 *
 * Call it once for each fact. It waits only for the removal of an endpoint, so it may stand anywhere in a transaction.
 */
export const insertWebhookEvent = (tx: TenantTx, event: WebhookEvent): Promise<void> => insertWebhookEvents(tx, [event])

/** As {@link insertWebhookEvent}, for several. Takes three statements for any number, or one if no webhook gets any. */
export async function insertWebhookEvents(tx: TenantTx, events: readonly WebhookEvent[]): Promise<void> {
  if (events.length === 0) return
  const { rows: webhooks } = await sql<{ id: number; events: string[] | null }>`
    select id, events from webhooks where tenant_id = ${mine} and disabled_at is null order by id
       for key share`.execute(tx.q)
  const told = events
    .map((event) => ({ event, id: messageId(), webhookIds: webhooks.filter(getting(event)).map(({ id }) => id) }))
    .filter(({ webhookIds }) => webhookIds.length > 0)
  if (told.length === 0) return
  const at = tx.now.toISOString()
  const bodies = told.map(({ event, id }) => ({ id, type: event.type, body: eventBody(event, at) }))
  await sql`
    insert into webhook_events (id, type, body, at)
    select id, type, body, ${tx.now}::timestamptz
      from jsonb_to_recordset(${JSON.stringify(bodies)}::jsonb) as e(id text, type text, body text)`.execute(tx.q)
  const deliveries = told.flatMap(({ id, webhookIds }) => webhookIds.map((webhookId) => ({ id, webhookId })))
  await sql`
    insert into deliveries (webhook_id, event_id, tried_since, next_attempt_at, created_at)
    select "webhookId", id, ${tx.now}::timestamptz, ${tx.now}::timestamptz, ${tx.now}::timestamptz
      from unnest(${deliveries.map(({ webhookId }) => webhookId)}::integer[], ${deliveries.map(({ id }) => id)}::text[])
             with ordinality as d("webhookId", id, n)
     order by n`.execute(tx.q)
  for (const webhookId of new Set(deliveries.map(({ webhookId }) => webhookId))) {
    tx.enqueue({ queue: 'webhooks', webhookId })
  }
}

const getting =
  ({ type }: WebhookEvent) =>
  ({ events }: { readonly events: readonly string[] | null }): boolean =>
    events?.includes(type) ?? true

/** Writes an event for one webhook, regardless of the webhook's types. @returns id of the delivery */
export async function insertEventFor(tx: TenantTx, webhookId: number, event: WebhookEvent): Promise<number> {
  const id = messageId()
  await sql`
    insert into webhook_events (id, type, body, at)
    values (${id}, ${event.type}, ${eventBody(event, tx.now.toISOString())}, ${tx.now})`.execute(tx.q)
  const { rows } = await sql<{ id: number }>`
    insert into deliveries (webhook_id, event_id, tried_since, next_attempt_at, created_at)
    values (${webhookId}, ${id}, ${tx.now}, ${tx.now}, ${tx.now}) returning id`.execute(tx.q)
  tx.enqueue({ queue: 'webhooks', webhookId })
  return insertedId(rows)
}

/** The header `webhook-id`: receivers recognise repeated events by it. */
const messageId = (): string => `msg_${randomUUID().replaceAll('-', '')}`
