/** The endpoints of tenants. Secrets are as `service/channels/secrets.ts` seals them, and are in no list. */
import { sql } from 'kysely'
import type { EndpointChannelName } from '../../../domain/channels/channel.ts'
import type { Webhook } from '../../../domain/channels/webhook.ts'
import { type Page, type PageQuery, pageRequest, toPage } from '../../../domain/page.ts'
import { insertedId } from '../../../store/inserted-id.ts'
import { keyName } from '../../../store/key-name.ts'
import { readPage } from '../../../store/paging.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'
import { giveUpDeliveries } from './deliveries.ts'

type WebhookRow = {
  readonly [F in keyof Webhook]: F extends `${string}At` | `${string}Until`
    ? Date | Extract<Webhook[F], null>
    : Webhook[F]
}

const columns = sql`id, url, description, events, created_at as "createdAt", created_by as "createdBy",
  ${keyName(sql`created_by`)} as "createdByName",
  previous_until as "previousSecretUntil", failures, paused_until as "pausedUntil", disabled_at as "disabledAt",
  disabled_why as "disabledWhy"`

const later = (at: Date | null, now: Date): string | null => (at !== null && at > now ? at.toISOString() : null)

const toWebhook =
  (now: Date) =>
  ({ createdAt, previousSecretUntil, pausedUntil, disabledAt, ...row }: WebhookRow): Webhook => ({
    ...row,
    createdAt: createdAt.toISOString(),
    previousSecretUntil: later(previousSecretUntil, now),
    pausedUntil: later(pausedUntil, now),
    disabledAt: disabledAt?.toISOString() ?? null,
  })

export async function insertWebhook(
  tx: TenantTx,
  webhook: Pick<Webhook, 'url' | 'description' | 'events'> & { readonly secret: string },
): Promise<number> {
  const { url, description, events, secret } = webhook
  const { rows } = await sql<{ id: number }>`
    insert into webhooks (url, description, events, secret, created_at, created_by)
    values (${url}, ${description}, ${events}::text[], ${secret}, ${tx.now}, ${tx.caller?.actor ?? null})
    returning id`.execute(tx.q)
  return insertedId(rows)
}

/** Locks the tenant's endpoints against a new one, until the transaction ends. @returns how many there are */
export async function lockWebhooks(tx: TenantTx): Promise<number> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`webhooks/${tx.tenantId}`}, 0))`.execute(tx.q)
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from webhooks where tenant_id = ${mine}`.execute(tx.q)
  return rows[0]?.count ?? 0
}

/** Reads a page of the endpoints, the newest first. */
export async function pageOfWebhooks(tx: TenantTx, query: PageQuery): Promise<Page<Webhook>> {
  const page = pageRequest(query)
  const { rows, totalItems } = await readPage<WebhookRow>(
    tx,
    { columns, from: sql`from webhooks where tenant_id = ${tx.tenantId}`, orderBy: sql`id desc` },
    page,
  )
  return toPage(page, totalItems, rows.map(toWebhook(tx.now)))
}

/** An endpoint with its secrets. */
export interface HeldWebhook extends Webhook {
  readonly channel: EndpointChannelName
  readonly secret: string
  /** The previous secret; null if it no longer signs. */
  readonly previousSecret: string | null
}

/** Reads an endpoint; undefined if there is none. @param lock whether to lock it until the transaction ends */
export async function readWebhook(tx: TenantTx, id: number, { lock = false } = {}): Promise<HeldWebhook | undefined> {
  const { rows } = await sql<WebhookRow & Pick<HeldWebhook, 'channel' | 'secret' | 'previousSecret'>>`
    select ${columns}, channel, secret, case when previous_until > ${tx.now} then previous_secret end as "previousSecret"
      from webhooks where id = ${id}::bigint ${lock ? sql`for no key update` : sql``}`.execute(tx.q)
  const [row] = rows
  if (row === undefined) return undefined
  const { channel, secret, previousSecret, ...rest } = row
  return { ...toWebhook(tx.now)(rest), channel, secret, previousSecret }
}

/** Gives an endpoint a new secret. The one before signs too until an instant; one before that no longer does. */
export async function writeSecret(tx: TenantTx, id: number, secret: string, previousUntil: Date): Promise<void> {
  await sql`
    update webhooks set previous_secret = secret, previous_until = ${previousUntil}, secret = ${secret}
     where id = ${id}`.execute(tx.q)
}

/** Disables an endpoint, and gives up its waiting deliveries. */
export async function writeDisabled(tx: TenantTx, id: number, why: string): Promise<void> {
  await sql`
    update webhooks set disabled_at = ${tx.now}, disabled_why = ${why}, failures = 0, paused_until = null
     where id = ${id}`.execute(tx.q)
  await giveUpDeliveries(tx, id)
}

/** Has an endpoint get events again, from now on. */
export async function writeEnabled(tx: TenantTx, id: number): Promise<void> {
  await sql`
    update webhooks set disabled_at = null, disabled_why = null where id = ${id}`.execute(tx.q)
}

/** Removes an endpoint, with its deliveries. */
export async function deleteWebhook(tx: TenantTx, id: number): Promise<void> {
  await sql`delete from webhooks where id = ${id}`.execute(tx.q)
}

/**
 * Pauses an unavailable endpoint. Of several attempts at the same time, only the first counts.
 *
 * @param failures their number before the attempt
 */
export async function pauseWebhook(tx: TenantTx, id: number, failures: number, until: Date): Promise<void> {
  await sql`
    update webhooks set failures = failures + 1, paused_until = ${until}
     where id = ${id} and failures = ${failures} and disabled_at is null`.execute(tx.q)
}

/** Ends the pause of an endpoint: it has answered, or a person requested an attempt. */
export async function endPause(tx: TenantTx, id: number): Promise<void> {
  await sql`
    update webhooks set failures = 0, paused_until = null
     where id = ${id} and (failures > 0 or paused_until is not null)`.execute(tx.q)
}

/** Notes that the tenant is warned of the endpoint's failures now. @returns false if it was warned since an instant */
export async function noteWarned(tx: TenantTx, id: number, since: Date): Promise<boolean> {
  const { rows } = await sql`
    update webhooks set warned_at = ${tx.now}
     where id = ${id} and (warned_at is null or warned_at <= ${since}) returning 1`.execute(tx.q)
  return rows.length > 0
}
