/** Webhooks: a tenant's HTTPS endpoints. Source: decision 0047. */
import { type Static, Type } from 'typebox'
import { type IpNetwork, isPublic, isWithin } from '../networks.ts'
import { WEBHOOK_EVENTS } from '../notifications/event.ts'
import { pageQuery } from '../page.ts'
import { Id, Instant, KeyName, Label, nullable, oneOf, optional, strictObject, Text } from '../schema.ts'

/** Most webhooks of a tenant: each event is delivered to all of them. */
export const MOST_WEBHOOKS = 10
/** How long the secret before the last rotation still signs, in milliseconds. */
export const ROTATION_MS = 24 * 3_600_000

const Url = Text(
  'URL for the POST requests with events: https, without user, password, fragment, control characters and blanks',
  'https://ops.meadow.example/simherd',
  {
    minLength: 1,
    maxLength: 2000,
  },
)
const FOR = ['Purpose of the webhook', 'Ticket system of the field team'] as const
const Events = Type.Array(oneOf(WEBHOOK_EVENTS, 'Type of event'), {
  minItems: 1,
  uniqueItems: true,
  description: 'Types of events to send; null: all, including future types',
})

export const NewWebhook = strictObject(
  { url: Url, description: optional(Label(...FOR, { maxLength: 200 })), events: optional(Events) },
  { examples: [{ url: 'https://ops.meadow.example/simherd', events: ['alert.fired', 'alert.resolved'] }] },
)
export type NewWebhook = Static<typeof NewWebhook>

export const Webhook = strictObject({
  id: Id('Webhook'),
  url: Url,
  description: Text(...FOR),
  events: nullable(Events),
  createdAt: Instant('Time of registration'),
  createdBy: nullable(Text('Actor that registered it', 'key:6a34354728b4')),
  createdByName: KeyName,
  previousSecretUntil: nullable(Instant('End of signatures with the previous secret; null: no previous secret')),
  failures: Type.Integer({ minimum: 0, description: 'Failed attempts in a row; 0: the endpoint responds' }),
  pausedUntil: nullable(Instant('End of the pause after failed attempts; null: not paused')),
  disabledAt: nullable(Instant('Time when it was disabled; null: enabled')),
  disabledWhy: nullable(Text('Reason why it is disabled', 'It answered 410 Gone.')),
})
export type Webhook = Static<typeof Webhook>

/** A webhook's new secret. */
export const WebhookSecret = strictObject({
  id: Id('Webhook'),
  secret: Text(
    'Secret for the signatures according to Standard Webhooks; shown only once',
    'whsec_shown-once-and-only-here',
  ),
})
export type WebhookSecret = Static<typeof WebhookSecret>

const STATUSES = ['pending', 'delivered', 'failed'] as const
export type DeliveryStatus = (typeof STATUSES)[number]
const Status = oneOf(STATUSES, 'pending: waits for an attempt; delivered: the endpoint responded 2xx; failed: given up')

export const WebhookDelivery = strictObject({
  id: Id('Delivery'),
  eventId: Text('The header webhook-id: the same for each attempt and replay', 'msg_0192f4c17d3a7b529c552f6f1d0c8a11'),
  type: Text('Type of the event', 'alert.fired'),
  status: Status,
  attempts: Type.Integer({ minimum: 0, description: 'Attempts since the event, or since the last replay' }),
  createdAt: Instant('Time of the event'),
  nextAttemptAt: nullable(Instant('Earliest time of the next attempt; null unless pending')),
  endedAt: nullable(Instant('Time when it was delivered or given up')),
  answer: nullable(
    Type.Integer({ description: 'HTTP status of the last attempt; null: no response', examples: [200] }),
  ),
  response: nullable(Text('Beginning of the last response, or reason of the failure', 'no connection: ECONNREFUSED')),
})
export type WebhookDelivery = Static<typeof WebhookDelivery>

export const DeliveryQuery = Type.Object({ status: Type.Optional(Status), ...pageQuery })
export type DeliveryQuery = Static<typeof DeliveryQuery>

/** Characters that {@link URL} would silently omit from a URL, or encode. */
const UNSEEN = /[\p{C}\p{Z}]/u

/**
 * Why a URL cannot be that of a webhook; undefined if it can. Checked when it is registered, and before each attempt.
 * Addresses are for {@link mayReach}.
 *
 * @param allow networks that the operator allows; if there are some, http is accepted too
 */
export function whyNotUrl(text: string, allow: readonly IpNetwork[]): string | undefined {
  const unseen = UNSEEN.exec(text)?.[0].codePointAt(0)
  if (unseen !== undefined) {
    const hex = unseen.toString(16).toUpperCase().padStart(4, '0')
    return `got a URL with the character U+${hex}, expected one without control characters and blanks`
  }
  const url = URL.parse(text)
  const mayBeHttp = allow.length > 0
  const schemes = mayBeHttp ? ['https:', 'http:'] : ['https:']
  const http = mayBeHttp
    ? ', or http:// within WEBHOOK_ALLOW'
    : ': http:// is for networks that the setting WEBHOOK_ALLOW names, and it names none'
  const expected = `expected a URL such as https://ops.meadow.example/simherd${http}`
  if (url === null || !schemes.includes(url.protocol)) return `got ${text}, ${expected}`
  if (url.username !== '' || url.password !== '')
    return 'got a URL with a user or a password, expected none: requests are signed'
  if (url.hash !== '') return `got a URL with the fragment ${url.hash}, expected none`
  return undefined
}

/** The host of a URL, without the brackets of an IPv6 address. */
export const hostOf = (url: string): string => new URL(url).hostname.replaceAll(/^\[|\]$/g, '')

/**
 * Whether a webhook may be sent to an address: by https to the public internet, and by http and https to the networks
 * that the operator allows. Checked when a webhook is registered, and for each address before a connection.
 *
 * @param protocol `https:` or `http:`
 */
export const mayReach = (protocol: string, address: string, allow: readonly IpNetwork[]): boolean =>
  (protocol === 'https:' && isPublic(address)) || isWithin(allow, address)
