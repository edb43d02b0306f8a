/** Deliveries: a tenant's mails, and events to its endpoints. The platform reads which are due, without the contents. */
import { type RawBuilder, sql } from 'kysely'
import type { Attempt } from '../../../domain/channels/channel.ts'
import type { NextStep, PastAttempts } from '../../../domain/channels/retry.ts'
import type { DeliveryQuery, WebhookDelivery } from '../../../domain/channels/webhook.ts'
import type { WebhookJob } from '../../../domain/jobs.ts'
import { type Page, pageRequest, toPage } from '../../../domain/page.ts'
import { readPage } from '../../../store/paging.ts'
import { mine, type PlatformTx, type TenantTx } from '../../../store/tenancy.ts'
import { attempted } from './attempted.ts'

interface ClaimedDelivery extends PastAttempts {
  readonly id: number
}

export interface ClaimedMail extends ClaimedDelivery {
  readonly mailId: string
  /** The address now: the tenant's billing address may have changed since the mail was made. */
  readonly recipient: string
}

/** Claims the oldest due mail under a lease, and counts the attempt; none if none is due. */
export const claimMail = (tx: TenantTx, leaseUntil: Date): Promise<ClaimedMail[]> =>
  claim(tx, sql`mail_id is not null`, sql`order by created_at limit 1`, leaseUntil)

export interface ClaimedEvent extends ClaimedDelivery {
  readonly eventId: string
  readonly event: string
}

/** Claims the longest due deliveries to an endpoint under a lease, and counts the attempt. */
export async function claimEvents(
  tx: TenantTx,
  webhookId: number,
  limit: number,
  leaseUntil: Date,
): Promise<ClaimedEvent[]> {
  const order = sql`order by next_attempt_at limit ${limit}`
  const rows = await claim<ClaimedEvent>(tx, sql`webhook_id = ${webhookId}`, order, leaseUntil)
  return rows.toSorted((a, b) => a.id - b.id)
}

async function claim<Row>(
  tx: TenantTx,
  which: RawBuilder<unknown>,
  order: RawBuilder<unknown>,
  leaseUntil: Date,
): Promise<Row[]> {
  const { rows } = await sql<Row>`
    with due as (
      select id, tenant_id, event_id from deliveries
       where tenant_id = ${mine} and ${which} and status = 'pending' and next_attempt_at <= ${tx.now}
       ${order} for update skip locked
    )
    update deliveries d set next_attempt_at = ${leaseUntil}, attempts = attempts + 1,
                            recipient = case when d.address_id is not null
                              then coalesce((select email from addresses where id = d.address_id), d.recipient)
                              when d.webhook_id is null
                              then coalesce(nullif((select billing_email from tenants where id = ${tx.tenantId}), ''), d.recipient) end
      from due left join webhook_events e on e.tenant_id = due.tenant_id and e.id = due.event_id
     where d.id = due.id
    returning d.id, d.mail_id as "mailId", d.recipient, d.event_id as "eventId", e.body as event, d.attempts,
              d.tried_since as "triedSince", d.refused_at as "refusedAt"`.execute(tx.q)
  return rows
}

type Noted = NextStep & Pick<Attempt, 'code' | 'response'>

/** The update of a delivery after an attempt, unless it has ended already. */
export const ended = (tx: TenantTx, id: number, { code, ...attempt }: Noted): RawBuilder<unknown> => sql`
    update deliveries
       set ${attempted(attempt)}, answer = ${code}, ended_at = ${attempt.status === 'pending' ? null : tx.now}
     where id = ${id} and status = 'pending' returning mail_id, subject`

/** Records the outcome of an attempt at an event, unless its delivery has ended already. */
export async function noteAttempt(tx: TenantTx, id: number, attempt: Noted): Promise<void> {
  await ended(tx, id, attempt).execute(tx.q)
}

/** Makes deliveries due again, as if they were new. @returns how many */
export async function renewDeliveries(tx: TenantTx, which: RawBuilder<unknown>): Promise<number> {
  const { rows } = await sql`
    update deliveries
       set status = 'pending', attempts = 0, next_attempt_at = ${tx.now}, refused_at = null, ended_at = null,
           tried_since = case when webhook_id is not null then ${tx.now}::timestamptz end
     where tenant_id = ${mine} and ${which} returning 1`.execute(tx.q)
  return rows.length
}

/** Gives up the pending deliveries to an endpoint; all, or those written or replayed until an instant. @returns how many */
export async function giveUpDeliveries(tx: TenantTx, webhookId: number, until?: Date): Promise<number> {
  const { numAffectedRows } = await sql`
    update deliveries set status = 'failed', ended_at = ${tx.now}
     where tenant_id = ${mine} and webhook_id = ${webhookId} and status = 'pending'
           ${until === undefined ? sql`` : sql`and tried_since <= ${until}`}`.execute(tx.q)
  return Number(numAffectedRows ?? 0n)
}

/** Makes a delivery due again, in any state. @returns false if the endpoint has no such delivery */
export async function renewDelivery(tx: TenantTx, webhookId: number, id: number): Promise<boolean> {
  const isKnown = (await renewDeliveries(tx, sql`webhook_id = ${webhookId} and id = ${id}::bigint`)) > 0
  if (isKnown) tx.enqueue({ queue: 'webhooks', webhookId })
  return isKnown
}

type DeliveryRow = {
  readonly [F in keyof WebhookDelivery]: F extends `${string}At`
    ? Date | Extract<WebhookDelivery[F], null>
    : WebhookDelivery[F]
}

const shown = sql`case d.status when 'sent' then 'delivered' else d.status end`

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
      columns: sql`d.id, d.event_id as "eventId", e.type, ${shown} as status, d.attempts, d.created_at as "createdAt",
        case when d.status = 'pending' then d.next_attempt_at end as "nextAttemptAt", d.ended_at as "endedAt",
        d.answer, d.response`,
      from: sql`
        from deliveries d join webhook_events e on e.tenant_id = d.tenant_id and e.id = d.event_id
       where (d.tenant_id, d.webhook_id) between (${mine}, ${webhookId}) and (${mine}, ${webhookId})
             ${status === undefined ? sql`` : sql`and ${shown} = ${status}`}`,
      orderBy: sql`id desc`,
      walkBy: sql`d.tenant_id, d.webhook_id, d.id desc`,
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

/**
 * Endpoints with a due delivery, at most `limit`. Reads one row of each endpoint with waiting deliveries, for any
 * number of them.
 */
export async function webhooksDue(tx: PlatformTx, limit: number): Promise<WebhookJob[]> {
  const { rows } = await sql<WebhookJob>`
    with recursive busy as (
      (select tenant_id, webhook_id from deliveries where status = 'pending' and webhook_id is not null
        order by tenant_id, webhook_id limit 1)
      union all
      select next.tenant_id, next.webhook_id from busy b
       cross join lateral (
         select tenant_id, webhook_id from deliveries
          where status = 'pending' and webhook_id is not null and (tenant_id, webhook_id) > (b.tenant_id, b.webhook_id)
          order by tenant_id, webhook_id limit 1
       ) next
    )
    select b.tenant_id as "tenantId", b.webhook_id as "webhookId" from busy b
      join webhooks w on w.tenant_id = b.tenant_id and w.id = b.webhook_id
     where w.disabled_at is null and (w.paused_until is null or w.paused_until <= ${tx.now})
       and exists (select from deliveries d
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
         and not exists (select from deliveries d
                          where d.tenant_id = o.tenant_id and d.event_id = o.id and d.status = 'pending'
                             and d.tried_since >= ${before})
       order by at limit ${limit}
    ) old
     where e.tenant_id = old.tenant_id and e.id = old.id`.execute(tx.q)
  return Number(numAffectedRows ?? 0n)
}
