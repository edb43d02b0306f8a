import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
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
  type WebhookOptions,
} from '../../../service/channels/change-webhooks.ts'
import { pageOfDeliveries } from '../../../service/channels/rows/webhook-deliveries.ts'
import { pageOfWebhooks } from '../../../service/channels/rows/webhooks.ts'
import { inTenant, reading } from '../../../store/tenancy.ts'
import { takeNoBody } from '../../http/app.ts'
import { changeInTenant } from '../../http/change.ts'
import { idempotentInTenant } from '../../http/idempotency.ts'
import type { InternalOptions } from '../../options.ts'

const tags = ['Webhooks']
const WebhookParams = Type.Object({ id: Id('Webhook') })
const DeliveryParams = Type.Object({ id: Id('Webhook'), deliveryId: Id('Delivery') })
const PUBLIC_ONLY: WebhookOptions = { secretsKeys: [], allow: [] }

/** Webhooks: a tenant's endpoints, and their deliveries. */
export const webhookRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, options) => {
  const { store, webhooks = PUBLIC_ONLY } = options

  app.get(
    '/webhooks',
    {
      schema: {
        operationId: 'listWebhooks',
        summary: 'Webhooks, the newest first, without their secrets',
        tags,
        querystring: PageQuery,
        response: { 200: pageOf(Webhook) },
      },
    },
    ({ tenantId, query }) => inTenant(reading(store), tenantId, (tx) => pageOfWebhooks(tx, query)),
  )

  app.post(
    '/webhooks',
    {
      config: { problems: ['webhook_limit', 'secret_already_shown'] },
      schema: {
        operationId: 'addWebhook',
        summary: 'Send events to a URL, from now on',
        description:
          'Each event is a POST, signed as Standard Webhooks has it, and tried for three days until it is answered with 2xx. 410 disables the webhook. An event may come twice, with the same `webhook-id`, and later than one after it.',
        tags,
        body: NewWebhook,
        response: { 201: WebhookSecret },
      },
    },
    (request, reply) =>
      idempotentInTenant(store, { request, reply }, (tx) => addWebhook(tx, request.body, webhooks), {
        status: 201,
        secret: true,
      }),
  )

  app.post(
    '/webhooks/:id/rotate',
    {
      config: { problems: ['webhook_not_found', 'secret_already_shown'] },
      schema: {
        operationId: 'rotateWebhook',
        summary: 'Give a webhook a new secret',
        description: 'For 24 hours, what is sent has a signature with each of the two.',
        tags,
        params: WebhookParams,
        response: { 201: WebhookSecret },
      },
    },
    (request, reply) =>
      idempotentInTenant(store, { request, reply }, (tx) => rotateWebhook(tx, request.params.id, webhooks), {
        status: 201,
        secret: true,
      }),
  )

  app.post(
    '/webhooks/:id/test',
    {
      config: { problems: ['webhook_not_found', 'webhook_disabled'] },
      schema: {
        operationId: 'testWebhook',
        summary: 'Send an event of the type webhook.test',
        description: 'The answer has the id of the delivery.',
        tags,
        params: WebhookParams,
        response: { 200: IdResponse },
      },
    },
    (request, reply) => idempotentInTenant(store, { request, reply }, (tx) => testWebhook(tx, request.params.id)),
  )

  app.post(
    '/webhooks/:id/disable',
    {
      config: { problems: ['webhook_not_found'] },
      schema: {
        operationId: 'disableWebhook',
        summary: 'Send nothing any more; what waits is given up',
        tags,
        params: WebhookParams,
        response: { 200: IdResponse },
      },
    },
    (request, reply) => idempotentInTenant(store, { request, reply }, (tx) => disableWebhook(tx, request.params.id)),
  )

  app.post(
    '/webhooks/:id/enable',
    {
      config: { problems: ['webhook_not_found'] },
      schema: {
        operationId: 'enableWebhook',
        summary: 'Send events again, from now on',
        tags,
        params: WebhookParams,
        response: { 200: IdResponse },
      },
    },
    (request, reply) => idempotentInTenant(store, { request, reply }, (tx) => enableWebhook(tx, request.params.id)),
  )

  const withoutBody: FastifyPluginAsyncTypebox = async (scope) => {
    takeNoBody(scope)
    scope.delete(
      '/webhooks/:id',
      {
        config: { problems: ['webhook_not_found'] },
        schema: {
          operationId: 'removeWebhook',
          summary: 'Remove a webhook, with the log of its deliveries',
          tags,
          params: WebhookParams,
          response: { 200: IdResponse },
        },
      },
      (request) => changeInTenant(store, request, (tx) => removeWebhook(tx, request.params.id)),
    )
  }
  await app.register(withoutBody)

  app.get(
    '/webhooks/:id/deliveries',
    {
      config: { problems: ['webhook_not_found'] },
      schema: {
        operationId: 'listWebhookDeliveries',
        summary: 'Deliveries to a webhook, the newest first',
        tags,
        params: WebhookParams,
        querystring: DeliveryQuery,
        response: { 200: pageOf(WebhookDelivery) },
      },
    },
    ({ tenantId, params, query }) =>
      inTenant(reading(store), tenantId, async (tx) => {
        await knownWebhook(tx, params.id)
        return pageOfDeliveries(tx, params.id, query)
      }),
  )

  app.post(
    '/webhooks/:id/deliveries/:deliveryId/replay',
    {
      config: { problems: ['webhook_not_found', 'webhook_delivery_not_found', 'webhook_disabled'] },
      schema: {
        operationId: 'replayWebhookDelivery',
        summary: 'Send an event again, or at once where it waits',
        description: 'It has the same `webhook-id`, and is tried for three days again.',
        tags,
        params: DeliveryParams,
        response: { 200: IdResponse },
      },
    },
    (request, reply) =>
      idempotentInTenant(store, { request, reply }, (tx) =>
        replayDelivery(tx, request.params.id, request.params.deliveryId),
      ),
  )
}
