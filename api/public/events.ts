import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ServiceError } from '../../domain/errors.ts'
import { Event, EventMetadata, EventQuery, eventMetadata } from '../../domain/event.ts'
import { pageOf } from '../../domain/page.ts'
import { findEvent, pageOfEvents } from '../../store/events.ts'
import { inTenant, reading } from '../../store/tenancy.ts'
import { answersVersion, NEVER_CHANGED } from '../http/etag.ts'
import { linked, takesCursor } from '../http/links.ts'
import { EventParams } from '../http/params.ts'
import type { RouteOptions } from '../options.ts'

export const eventRoutes: FastifyPluginAsyncTypebox<RouteOptions> = async (app, { store }) => {
  const tags = ['Events']

  app.get(
    '/events',
    {
      schema: {
        operationId: 'listEvents',
        summary: 'Connectivity changes, billing alerts and platform notices, newest first',
        description: 'Newest first; all filters that are given hold.',
        tags,
        querystring: EventQuery,
        response: { 200: pageOf(Event) },
      },
      preValidation: takesCursor('events'),
    },
    async (request, reply) =>
      linked(request, reply, await inTenant(reading(store), request.tenantId, (tx) => pageOfEvents(tx, request.query))),
  )

  app.get(
    '/events/metadata',
    {
      schema: {
        operationId: 'getEventMetadata',
        summary: 'Labels of event types and severities',
        description: 'The codes of `type` and, under the name `severty`, of `severity`, each with its label.',
        tags,
        response: { 200: EventMetadata },
      },
    },
    async () => eventMetadata,
  )

  app.get(
    '/events/:id',
    {
      config: { problems: ['event_not_found'], versioned: true },
      schema: {
        operationId: 'getEvent',
        summary: 'One event',
        description: 'Events are never changed.',
        tags,
        params: EventParams,
        response: { 200: Event },
      },
    },
    ({ tenantId, params }, reply) =>
      inTenant(reading(store), tenantId, async (tx) => {
        const event = await findEvent(tx, params.id)
        if (event === undefined) throw new ServiceError('event_not_found', `There is no event ${params.id}.`)
        answersVersion(reply, NEVER_CHANGED)
        return event
      }),
  )
}
