/** Deliveries of events to webhooks. They are their own work list; the platform reads it without the contents. */
import { sql } from 'kysely'
import type { DeliveryQuery, DeliveryStatus, WebhookDelivery } from '../../../domain/channels/webhook.ts'
import { type Page, pageRequest, toPage } from '../../../domain/page.ts'
import { readPage } from '../../../store/paging.ts'
import { mine, type PlatformTx, type TenantTx } from '../../../store/tenancy.ts'

export interface ClaimedDelivery {
  readonly id: number
  readonly eventId: string
  readonly body: string
  readonly attempts: number
  readonly triedFrom: Date
}

/** Claims the longest due deliveries to an endpoint under a lease, and counts the attempt. */
export async function claimDeliveries(
  tx: TenantTx,
  webhookId: number,
  limit: number,
  leaseUntil: Date,
): Promise<ClaimedDelivery[]> {
  const { rows } = await sql<ClaimedDelivery>`
    with due as (
      select id from webhook_deliveries
       where tenant_id = ${mine} and webhook_id = ${webhookId} and status = 'pending'
         and next_attempt_at <= ${tx.now}
       order by next_attempt_at limit ${limit}
         for update skip locked
    )
    update webhook_deliveries d set next_attempt_at = ${leaseUntil}, attempts = attempts + 1
      from due, webhook_events e
     where d.id = due.id and e.tenant_id = d.tenant_id and e.id = d.event_id
    returning d.id, d.event_id as "eventId", e.body, d.attempts, d.tried_from as "triedFrom"`.execute(tx.q)
  return rows.toSorted((a, b) => a.id - b.id)
}

export interface AttemptOutcome {
  readonly status: DeliveryStatus
  readonly answer: number | null
  readonly response: string
  /** When it is tried again; ignored unless it is pending. */
  readonly nextAt: Date
}

/** Records the outcome of an attempt, unless the delivery has ended already. */
export async function noteAttempt(tx: TenantTx, id: number, outcome: AttemptOutcome): Promise<void> {
  const { status, answer, response, nextAt } = outcome
  await sql`
    update webhook_deliveries
       set status = ${status}, answer = ${answer}, response = ${response}, next_attempt_at = ${nextAt},
           ended_at = ${status === 'pending' ? null : tx.now}
     where id = ${id} and status = 'pending'`.execute(tx.q)
}

/** Gives up all pending deliveries to an endpoint that were written or replayed before an instant. @returns how many */
export async function giveUpDeliveries(tx: TenantTx, webhookId: number, triedSince: Date): Promise<number> {
  const { numAffectedRows } = await sql`
    update webhook_deliveries set status = 'failed', ended_at = ${tx.now}
     where tenant_id = ${mine} and webhook_id = ${webhookId} and status = 'pending'
       and tried_from <= ${triedSince}`.execute(tx.q)
  return Number(numAffectedRows ?? 0n)
}

/** Makes a delivery due again, in any state. @returns false if the endpoint has no such delivery */
export async function replayDelivery(tx: TenantTx, webhookId: number, id: number): Promise<boolean> {
  const { rows } = await sql`
    update webhook_deliveries
       set status = 'pending', attempts = 0, tried_from = ${tx.now}, next_attempt_at = ${tx.now}, ended_at = null
     where tenant_id = ${mine} and webhook_id = ${webhookId} and id = ${id}::bigint returning 1`.execute(tx.q)
  if (rows.length > 0) tx.enqueue({ queue: 'webhooks', webhookId })
  return rows.length > 0
}

type DeliveryRow = {
  readonly [F in keyof WebhookDelivery]: F extends `${string}At`
    ? Date | Extract<WebhookDelivery[F], null>
    : WebhookDelivery[F]
}

/** Reads a page of the deliveries to an endpoint, the newest first. */
export async function pageOfDeliveries(
  tx: TenantTx,
  webhookId: number,
  query: DeliveryQuery,
): Promise<Page<WebhookDelivery>> {
  const page = pageRequest(query)
  const { status } = query
  const { rows, totalItems } = await readPage<DeliveryRow>(
    tx,
    {
      columns: sql`d.id, d.event_id as "eventId", e.type, d.status, d.attempts, e.at as "createdAt",
        case when d.status = 'pending' then d.next_attempt_at end as "nextAttemptAt", d.ended_at as "endedAt",
        d.answer, d.response`,
      from: sql`
        from webhook_deliveries d join webhook_events e on e.tenant_id = d.tenant_id and e.id = d.event_id
       where d.tenant_id = ${tx.tenantId} and d.webhook_id = ${webhookId}
             ${status === undefined ? sql`` : sql`and d.status = ${status}`}`,
      orderBy: sql`id desc`,
    },
    page,
  )
  return toPage(
    page,
    totalItems,
    rows.map(({ createdAt, nextAttemptAt, endedAt, ...row }) => ({
      ...row,
      createdAt: createdAt.toISOString(),
      nextAttemptAt: nextAttemptAt?.toISOString() ?? null,
      endedAt: endedAt?.toISOString() ?? null,
    })),
  )
}

/** An endpoint that something waits for. */
export interface BusyWebhook {
  readonly tenantId: string
  readonly webhookId: number
}

/**
 * Endpoints with a due delivery, at most `limit`. Reads one row of each endpoint with waiting deliveries, for any
 * number of them.
 */
export async function webhooksDue(tx: PlatformTx, limit: number): Promise<BusyWebhook[]> {
  const { rows } = await sql<BusyWebhook>`
    with recursive busy as (
      (select tenant_id, webhook_id from webhook_deliveries where status = 'pending'
        order by tenant_id, webhook_id limit 1)
      union all
      select next.tenant_id, next.webhook_id from busy b
       cross join lateral (
         select tenant_id, webhook_id from webhook_deliveries
          where status = 'pending' and (tenant_id, webhook_id) > (b.tenant_id, b.webhook_id)
          order by tenant_id, webhook_id limit 1
       ) next
    )
    select b.tenant_id as "tenantId", b.webhook_id as "webhookId" from busy b
      join webhooks w on w.tenant_id = b.tenant_id and w.id = b.webhook_id
     where w.disabled_at is null and (w.paused_until is null or w.paused_until <= ${tx.now})
       and exists (select from webhook_deliveries d
                    where d.tenant_id = b.tenant_id and d.webhook_id = b.webhook_id and d.status = 'pending'
                      and d.next_attempt_at <= ${tx.now})
     limit ${limit}`.execute(tx.q)
  return rows
}

/**
 * Deletes events of all tenants from before an instant, with their deliveries, the oldest first. A delivery replayed
 * since is kept until it is accepted or given up.
 *
 * @returns how many
 */
export async function forgetWebhookEvents(tx: PlatformTx, before: Date, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from webhook_events e using (
      select tenant_id, id from webhook_events o
       where at < ${before}
         and not exists (select from webhook_deliveries d
                          where d.tenant_id = o.tenant_id and d.event_id = o.id and d.status = 'pending'
                             and d.tried_from >= ${before})
       order by at limit ${limit}
    ) old
     where e.tenant_id = old.tenant_id and e.id = old.id`.execute(tx.q)
  return Number(numAffectedRows ?? 0n)
}
