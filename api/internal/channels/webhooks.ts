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
import { declareRoutes } from '../../http/declare-routes.ts'
import type { InternalOptions } from '../../options.ts'

const WebhookParams = Type.Object({ id: Id('Webhook') })
const DeliveryParams = Type.Object({ id: Id('Webhook'), deliveryId: Id('Delivery') })
const PUBLIC_ONLY: EndpointOptions = { secretsKeys: [], allow: [] }

const route = declareRoutes<InternalOptions>('Webhooks')

/** Webhooks: a tenant's endpoints, and their deliveries. */
export const webhookRoutes = [
  route('GET', '/webhooks', {
    operationId: 'listWebhooks',
    summary: 'Webhooks, the newest first, without their secrets',
    query: PageQuery,
    response: { 200: pageOf(Webhook) },
    read: (tx, { query }) => pageOfWebhooks(tx, query),
  }),
  route('POST', '/webhooks', {
    operationId: 'addWebhook',
    summary: 'Send events to a URL, from now on',
    description:
      'Each event is a POST, signed as Standard Webhooks has it, and tried for three days until it is answered with 2xx. 410 disables the webhook. An event may come twice, with the same `webhook-id`, and later than one after it.',
    problems: ['webhook_limit', 'secret_already_shown'],
    body: NewWebhook,
    response: { 201: WebhookSecret },
    secret: true,
    change: (tx, { body }, { endpoints = PUBLIC_ONLY }) => addWebhook(tx, body, endpoints),
  }),
  route('POST', '/webhooks/:id/rotate', {
    operationId: 'rotateWebhook',
    summary: 'Give a webhook a new secret',
    description: 'For 24 hours, what is sent has a signature with each of the two.',
    problems: ['webhook_not_found', 'secret_already_shown'],
    params: WebhookParams,
    response: { 201: WebhookSecret },
    secret: true,
    change: (tx, { params }, { endpoints = PUBLIC_ONLY }) => rotateWebhook(tx, params.id, endpoints),
  }),
  route('POST', '/webhooks/:id/test', {
    operationId: 'testWebhook',
    summary: 'Send an event of the type webhook.test',
    description: 'The answer has the id of the delivery.',
    problems: ['webhook_not_found', 'webhook_disabled'],
    params: WebhookParams,
    response: { 200: IdResponse },
    change: (tx, { params }) => testWebhook(tx, params.id),
  }),
  route('POST', '/webhooks/:id/disable', {
    operationId: 'disableWebhook',
    summary: 'Send nothing any more; what waits is given up',
    problems: ['webhook_not_found'],
    params: WebhookParams,
    response: { 200: IdResponse },
    change: (tx, { params }) => disableWebhook(tx, params.id),
  }),
  route('POST', '/webhooks/:id/enable', {
    operationId: 'enableWebhook',
    summary: 'Send events again, from now on',
    problems: ['webhook_not_found'],
    params: WebhookParams,
    response: { 200: IdResponse },
    change: (tx, { params }) => enableWebhook(tx, params.id),
  }),
  route('DELETE', '/webhooks/:id', {
    operationId: 'removeWebhook',
    summary: 'Remove a webhook, with the log of its deliveries',
    problems: ['webhook_not_found'],
    bodies: takeNoBody,
    params: WebhookParams,
    response: { 200: IdResponse },
    change: (tx, { params }) => removeWebhook(tx, params.id),
  }),
  route('GET', '/webhooks/:id/deliveries', {
    operationId: 'listWebhookDeliveries',
    summary: 'Deliveries to a webhook, the newest first',
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
    summary: 'Send an event again, or at once where it waits',
    description: 'It has the same `webhook-id`, and is tried for three days again.',
    problems: ['webhook_not_found', 'webhook_delivery_not_found', 'webhook_disabled'],
    params: DeliveryParams,
    response: { 200: IdResponse },
    change: (tx, { params }) => replayDelivery(tx, params.id, params.deliveryId),
  }),
]
