/** Registers webhooks, and changes them. */

import type { EndpointOptions } from '../../domain/channels/channel.ts'
import {
  hostOf,
  MOST_WEBHOOKS,
  mayReach,
  type NewWebhook,
  ROTATION_MS,
  type WebhookSecret,
  whyNotUrl,
} from '../../domain/channels/webhook.ts'
import { EventSeverity, EventType } from '../../domain/codes.ts'
import { ServiceError } from '../../domain/errors.ts'
import { isAddress } from '../../domain/networks.ts'
import { type Change, noteChange } from '../../store/audit.ts'
import { insertEvent } from '../../store/events.ts'
import { insertedId } from '../../store/inserted-id.ts'
import { insertDeliveries } from '../../store/notifications.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { renewDelivery as replay } from './rows/deliveries.ts'
import {
  deleteWebhook,
  endPause,
  type HeldWebhook,
  insertWebhook,
  lockWebhooks,
  readWebhook,
  writeDisabled,
  writeEnabled,
  writeSecret,
} from './rows/webhooks.ts'
import { newSecret, seal } from './secrets.ts'

type WebhookRef = { id: number }

/**
 * Registers an endpoint. It gets events from now on.
 *
 * @returns the secret that signs its events; shown only here
 * @throws ServiceError `invalid_request`, `webhook_limit`
 */
export async function addWebhook(tx: TenantTx, ask: NewWebhook, options: EndpointOptions): Promise<WebhookSecret> {
  const why = whyNotUrl(ask.url, options.allow) ?? whyNotHost(ask.url, options)
  if (why !== undefined) {
    throw new ServiceError('invalid_request', `url: ${why}`, { errors: [{ pointer: '/url', detail: why }] })
  }
  if ((await lockWebhooks(tx)) >= MOST_WEBHOOKS) {
    throw new ServiceError('webhook_limit', `The tenant has ${MOST_WEBHOOKS} webhooks.`)
  }
  const { url, description, events } = { ...ask, description: ask.description ?? '', events: ask.events ?? null }
  const secret = newSecret()
  const sealed = seal(secret, tx.tenantId, options.secretsKeys)
  const id = await insertWebhook(tx, { url, description, events, secret: sealed })
  await recordChange(tx, { id, before: null, after: { url, description, events } }, url, 'was registered')
  return { id, secret }
}

/** An address in the URL is known now; those of a name are looked at whenever it is connected to. */
function whyNotHost(url: string, { allow }: EndpointOptions): string | undefined {
  const { protocol } = new URL(url)
  const host = hostOf(url)
  if (!isAddress(host) || mayReach(protocol, host, allow)) return undefined
  const expected = protocol === 'https:' ? 'one of the public internet, or of' : 'for http one of'
  return `got the address ${host}, expected ${expected} a network that WEBHOOK_ALLOW names`
}

/**
 * Gives an endpoint a new secret. For 24 hours, its events are signed with the previous one too.
 *
 * @returns the new secret; shown only here
 * @throws ServiceError `webhook_not_found`
 */
export async function rotateWebhook(tx: TenantTx, id: number, options: EndpointOptions): Promise<WebhookSecret> {
  const { url, previousSecretUntil } = await lockedWebhook(tx, id)
  const secret = newSecret()
  const until = new Date(tx.now.getTime() + ROTATION_MS)
  await writeSecret(tx, id, seal(secret, tx.tenantId, options.secretsKeys), until)
  const change = { id, before: { previousSecretUntil }, after: { previousSecretUntil: until } }
  await recordChange(tx, change, url, `has a new secret; the one before signs until ${until.toISOString()}`)
  return { id, secret }
}

/**
 * Sends an event of the type `webhook.test`, at once and to this endpoint only.
 *
 * @returns id of the delivery
 * @throws ServiceError `webhook_not_found`, `webhook_disabled`
 */
export async function testWebhook(tx: TenantTx, id: number): Promise<WebhookRef> {
  await usableWebhook(tx, id)
  await endPause(tx, id)
  const event = { type: 'webhook.test', data: { webhookId: id, message: 'This is a test.' } } as const
  const delivery = insertedId(await insertDeliveries(tx, [{ event, webhookIds: [id] }]))
  await noteChange(tx, { subject: 'webhook', id, before: null, after: { testedBy: delivery } })
  return { id: delivery }
}

/**
 * Sends an event again, or at once if it waits: under the same webhook-id, and again for three days.
 *
 * @throws ServiceError `webhook_not_found`, `webhook_disabled`, `webhook_delivery_not_found`
 */
export async function replayDelivery(tx: TenantTx, id: number, deliveryId: number): Promise<WebhookRef> {
  await usableWebhook(tx, id)
  await endPause(tx, id)
  if (!(await replay(tx, id, deliveryId))) {
    throw new ServiceError('webhook_delivery_not_found', `Webhook ${id} has no delivery ${deliveryId}.`)
  }
  await noteChange(tx, { subject: 'webhook', id, before: null, after: { replayed: deliveryId } })
  return { id: deliveryId }
}

/**
 * Disables an endpoint: it gets no more events, and its waiting deliveries are given up. Safe to run twice.
 *
 * @throws ServiceError `webhook_not_found`
 */
export async function disableWebhook(tx: TenantTx, id: number): Promise<WebhookRef> {
  const { disabledAt, url } = await lockedWebhook(tx, id)
  if (disabledAt !== null) return { id }
  await writeDisabled(tx, id, 'A person has disabled it.')
  await recordChange(tx, { id, before: { disabledAt }, after: { disabledAt: tx.now } }, url, 'was disabled')
  return { id }
}

/**
 * Enables an endpoint: it gets events again, from now on. Deliveries given up before can be replayed. Safe to run
 * twice.
 *
 * @throws ServiceError `webhook_not_found`
 */
export async function enableWebhook(tx: TenantTx, id: number): Promise<WebhookRef> {
  const { disabledAt, url } = await lockedWebhook(tx, id)
  if (disabledAt === null) return { id }
  await writeEnabled(tx, id)
  await recordChange(tx, { id, before: { disabledAt }, after: { disabledAt: null } }, url, 'is enabled again')
  return { id }
}

/**
 * Removes an endpoint, with the log of its deliveries.
 *
 * @throws ServiceError `webhook_not_found`
 */
export async function removeWebhook(tx: TenantTx, id: number): Promise<WebhookRef> {
  const { url, description, events } = await lockedWebhook(tx, id)
  await deleteWebhook(tx, id)
  await recordChange(tx, { id, before: { url, description, events }, after: null }, url, 'was removed')
  return { id }
}

/** @throws ServiceError `webhook_not_found` */
export async function knownWebhook(
  tx: TenantTx,
  id: number,
  options?: { readonly lock: boolean },
): Promise<HeldWebhook> {
  const webhook = await readWebhook(tx, id, options)
  if (webhook === undefined) throw new ServiceError('webhook_not_found', `There is no webhook ${id}.`)
  return webhook
}

const lockedWebhook = (tx: TenantTx, id: number): Promise<HeldWebhook> => knownWebhook(tx, id, { lock: true })

async function usableWebhook(tx: TenantTx, id: number): Promise<void> {
  const { disabledAt } = await lockedWebhook(tx, id)
  if (disabledAt !== null) {
    throw new ServiceError('webhook_disabled', `Webhook ${id} is disabled since ${disabledAt}.`)
  }
}

async function recordChange(tx: TenantTx, change: Omit<Change, 'subject'>, url: string, what: string): Promise<void> {
  await noteChange(tx, { subject: 'webhook', ...change })
  await insertEvent(tx, {
    type: EventType.Platform,
    severity: EventSeverity.Info,
    title: `Webhook ${change.id} ${what.split(/[;,]/)[0]}`,
    description: `The webhook at ${new URL(url).origin} ${what}.`,
  })
}
