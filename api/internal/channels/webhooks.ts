import { Type } from 'typebox'
import type { EndpointOptions } from '../../../domain/channels/channel.ts'
import { DeliveryQuery, NewWebhook, Webhook, WebhookDelivery, WebhookSecret } from '../../../domain/channels/webhook.ts'
import { PageQuery, pageOf } from '../../../domain/page.ts'
import { Id, IdResponse } from '../../../domain/schema.ts'
import {
  addWebhook,
  disableWebhook,
  enableWebhook,
  knownWebhook,
  removeWebhook,
  replayDelivery,
  rotateWebhook,
  testWebhook,
} from '../../../service/channels/change-webhooks.ts'
import { pageOfDeliveries } from '../../../service/channels/rows/deliveries.ts'
import { pageOfWebhooks } from '../../../service/channels/rows/webhooks.ts'
import { takeNoBody } from '../../http/app.ts'
import { internalRoutes } from '../../http/declare-routes.ts'

const WebhookParams = Type.Object({ id: Id('Webhook') })
const DeliveryParams = Type.Object({ id: Id('Webhook'), deliveryId: Id('Delivery') })
const PUBLIC_ONLY: EndpointOptions = { secretsKeys: [], allow: [] }

const route = internalRoutes('Webhooks')

/** Webhooks: a tenant's endpoints, and their deliveries. */
export const webhookRoutes = [
  route('GET', '/webhooks', {
    operationId: 'listWebhooks',
    summary: 'Webhooks, newest first, without their secrets',
    query: PageQuery,
    response: { 200: pageOf(Webhook) },
    read: (tx, { query }) => pageOfWebhooks(tx, query),
  }),
  route('POST', '/webhooks', {
    operationId: 'addWebhook',
    summary: 'Register a webhook: send new events to a URL',
    description:
      'Sends every event as a POST, signed according to Standard Webhooks, and retries for three days until a 2xx response. 410 disables the webhook. Events can arrive twice, with the same `webhook-id`, and out of order.',
    problems: ['webhook_limit', 'secret_already_shown'],
    body: NewWebhook,
    response: { 201: WebhookSecret },
    secret: true,
    change: (tx, { body }, { endpoints = PUBLIC_ONLY }) => addWebhook(tx, body, endpoints),
  }),
  route('POST', '/webhooks/:id/rotate', {
    operationId: 'rotateWebhook',
    summary: 'Give a webhook a new secret',
    description: 'For 24 hours, requests are signed with both secrets.',
    problems: ['webhook_not_found', 'secret_already_shown'],
    params: WebhookParams,
    response: { 201: WebhookSecret },
    secret: true,
    change: (tx, { params }, { endpoints = PUBLIC_ONLY }) => rotateWebhook(tx, params.id, endpoints),
  }),
  route('POST', '/webhooks/:id/test', {
    operationId: 'testWebhook',
    summary: 'Send an event of the type webhook.test',
    description: 'Returns the id of the delivery.',
    problems: ['webhook_not_found', 'webhook_disabled'],
    params: WebhookParams,
    response: { 200: IdResponse },
    change: (tx, { params }) => testWebhook(tx, params.id),
  }),
  route('POST', '/webhooks/:id/disable', {
    operationId: 'disableWebhook',
    summary: 'Disable a webhook; waiting deliveries fail',
    problems: ['webhook_not_found'],
    params: WebhookParams,
    response: { 200: IdResponse },
    change: (tx, { params }) => disableWebhook(tx, params.id),
  }),
  route('POST', '/webhooks/:id/enable', {
    operationId: 'enableWebhook',
    summary: 'Enable a webhook: send new events again',
    problems: ['webhook_not_found'],
    params: WebhookParams,
    response: { 200: IdResponse },
    change: (tx, { params }) => enableWebhook(tx, params.id),
  }),
  route('DELETE', '/webhooks/:id', {
    operationId: 'removeWebhook',
    summary: 'Remove a webhook and the log of its deliveries',
    problems: ['webhook_not_found'],
    bodies: takeNoBody,
    params: WebhookParams,
    response: { 200: IdResponse },
    change: (tx, { params }) => removeWebhook(tx, params.id),
  }),
  route('GET', '/webhooks/:id/deliveries', {
    operationId: 'listWebhookDeliveries',
    summary: 'Deliveries to a webhook, newest first',
    problems: ['webhook_not_found'],
    params: WebhookParams,
    query: DeliveryQuery,
    response: { 200: pageOf(WebhookDelivery) },
    read: async (tx, { params, query }) => {
      await knownWebhook(tx, params.id)
      return pageOfDeliveries(tx, params.id, query)
    },
  }),
  route('POST', '/webhooks/:id/deliveries/:deliveryId/replay', {
    operationId: 'replayWebhookDelivery',
    summary: 'Send an event again, or now if it waits',
    description: 'Keeps the `webhook-id`; attempts continue for three days.',
    problems: ['webhook_not_found', 'webhook_delivery_not_found', 'webhook_disabled'],
    params: DeliveryParams,
    response: { 200: IdResponse },
    change: (tx, { params }) => replayDelivery(tx, params.id, params.deliveryId),
  }),
]
