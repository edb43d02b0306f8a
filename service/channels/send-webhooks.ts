/**
 * Sends due deliveries to a webhook.
 *
 *   claim (lease, attempt counted, committed) → POST → delivered, failed or again (committed) → the next
 *
 * At least once, in practice once. A sender that dies between the answer and the commit leaves a lease that runs out,
 * and the delivery goes out again under the same webhook-id.
 */

import type { WebhookAnswer, WebhookSender } from '../../adapters/channels/webhook/webhook-sender.ts'
import type { Webhook } from '../../domain/channels/webhook.ts'
import { EventSeverity, EventType } from '../../domain/codes.ts'
import { retryAfterMs } from '../../domain/http.ts'
import { storable } from '../../domain/text.ts'
import { insertEvent } from '../../store/events.ts'
import { inTenant, type Store, type TenantTx } from '../../store/tenancy.ts'
import { nextAttempt, pausedUntil, TRIED_FOR_MS, type Verdict, verdictOn } from './retry-webhook.ts'
import { type ClaimedDelivery, claimDeliveries, giveUpDeliveries, noteAttempt } from './rows/webhook-deliveries.ts'
import { endPause, noteWarned, pauseWebhook, readWebhook, writeDisabled } from './rows/webhooks.ts'
import { open } from './secrets.ts'

export interface SendOptions {
  /** As in `WebhookOptions`. */
  readonly secretsKeys: readonly Buffer[]
  /** Called after each attempt. */
  readonly onAttempt?: (verdict: Verdict) => void
}

/** Deliveries to one endpoint at a time. */
const AT_ONCE = 4
/** Longer than an attempt and its commit: the sender's timeout is at most 15 s. */
const LEASE_MS = 60_000
/** Longest that an endpoint may ask to be left alone. */
const LONGEST_RETRY_AFTER_MS = 3_600_000
const DAY_MS = 24 * 3_600_000

/** The context of a sender: its tenant, and how to send. */
interface Sending {
  readonly store: Store
  readonly sender: WebhookSender
  readonly options: SendOptions
  readonly tenantId: string
}

interface Round {
  readonly webhook: { readonly id: number; readonly url: string; readonly failures: number }
  /** Opened; the present one first. */
  readonly secrets: readonly string[]
  readonly deliveries: readonly ClaimedDelivery[]
}

/**
 * Sends until no delivery to the endpoint is due, the endpoint is found away, or the turn is over.
 *
 * @returns whether due deliveries are left
 * @throws Error if the endpoint's secret cannot be opened; nothing was tried then
 */
export async function sendWebhooks(
  store: Store,
  sender: WebhookSender,
  options: SendOptions,
  job: { readonly tenantId: string; readonly webhookId: number },
  turnMs: number,
): Promise<boolean> {
  const { tenantId, webhookId } = job
  const ends = store.clock() + turnMs
  for (;;) {
    const round = await inTenant(store, tenantId, (tx) => claimRound(tx, webhookId, options))
    if (round === undefined) return false
    await Promise.all(
      round.deliveries.map((delivery) => attempt({ store, sender, options, tenantId }, round, delivery)),
    )
    if (store.clock() >= ends) return true
  }
}

/** Claims the next deliveries. To an endpoint that was away, one delivery goes first: it shows whether it is back. */
async function claimRound(tx: TenantTx, webhookId: number, { secretsKeys }: SendOptions): Promise<Round | undefined> {
  const webhook = await readWebhook(tx, webhookId)
  if (webhook === undefined || webhook.disabledAt !== null || webhook.pausedUntil !== null) return undefined
  const sealed = [webhook.secret, ...(webhook.previousSecret === null ? [] : [webhook.previousSecret])]
  const secrets = sealed.map((secret) => open(secret, tx.tenantId, secretsKeys))
  const leaseUntil = new Date(tx.now.getTime() + LEASE_MS)
  const deliveries = await claimDeliveries(tx, webhookId, webhook.failures > 0 ? 1 : AT_ONCE, leaseUntil)
  return deliveries.length === 0 ? undefined : { webhook, secrets, deliveries }
}

async function attempt(
  { store, sender, options, tenantId }: Sending,
  { webhook, secrets }: Round,
  delivery: ClaimedDelivery,
): Promise<void> {
  const answer = await sender.send({
    url: webhook.url,
    id: delivery.eventId,
    timestamp: Math.floor(store.clock() / 1000),
    body: delivery.body,
    secrets,
  })
  await inTenant(store, tenantId, (tx) => settle(tx, webhook, delivery, answer))
  options.onAttempt?.(verdictOn(answer.status))
}

async function settle(
  tx: TenantTx,
  { id, failures }: Round['webhook'],
  delivery: ClaimedDelivery,
  { status, text, retryAfter }: WebhookAnswer,
): Promise<void> {
  const verdict = verdictOn(status)
  const response = storable(text)
  const now = tx.now.getTime()
  if (verdict === 'delivered') {
    if (failures > 0) await endPause(tx, id)
    await noteAttempt(tx, delivery.id, { status: 'delivered', answer: status, response, nextAt: tx.now })
    return
  }
  // The following changes the endpoint and deliveries to it. All transactions lock the endpoint first.
  const webhook = await readWebhook(tx, id, { lock: true })
  if (webhook === undefined) return
  const pauseMs = retryAfterMs(retryAfter, now, LONGEST_RETRY_AFTER_MS)
  const at =
    verdict === 'gone' ? null : nextAttempt({ ...delivery, triedFrom: delivery.triedFrom.getTime() }, now, pauseMs)
  const outcome = at === null ? ('failed' as const) : ('pending' as const)
  await noteAttempt(tx, delivery.id, { status: outcome, answer: status, response, nextAt: new Date(at ?? now) })
  if (verdict === 'gone') {
    if (webhook.disabledAt === null) await disableGone(tx, webhook)
    return
  }
  if (verdict === 'away') await pauseWebhook(tx, id, failures, new Date(pausedUntil(failures + 1, now, pauseMs)))
  // While it is away, one is tried. So others may have waited all the time.
  const others = verdict === 'away' ? await giveUpDeliveries(tx, id, new Date(now - TRIED_FOR_MS)) : 0
  if (at === null || others > 0) await warn(tx, webhook, status === null ? response : `it answered ${status}`)
}

async function disableGone(tx: TenantTx, { id, url }: Webhook): Promise<void> {
  await writeDisabled(tx, id, 'It answered 410 Gone.')
  await insertEvent(tx, {
    type: EventType.Platform,
    severity: EventSeverity.Warning,
    title: `Webhook ${id} is disabled`,
    description: `The webhook at ${new URL(url).origin} answered 410 Gone: it gets nothing any more.`,
  })
}

/** Tells the tenant that events are given up, once a day. */
async function warn(tx: TenantTx, { id, url }: Webhook, last: string): Promise<void> {
  if (!(await noteWarned(tx, id, new Date(tx.now.getTime() - DAY_MS)))) return
  await insertEvent(tx, {
    type: EventType.Platform,
    severity: EventSeverity.Warning,
    title: `Webhook ${id}: events are given up`,
    description: `The webhook at ${new URL(url).origin} has not taken events for three days; at last ${last}. They can be replayed.`,
  })
}
