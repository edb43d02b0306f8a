import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Event, EventQuery } from '../../domain/event.ts'
import { pageOf } from '../../domain/page.ts'
import { pageOfEvents } from '../../store/events.ts'
import { inTenant } from '../../store/tenancy.ts'
import type { RouteOptions } from '../server.ts'

export const eventRoutes: FastifyPluginAsyncTypebox<RouteOptions> = async (app, { ground }) => {
  app.get(
    '/events',
    {
      schema: {
        operationId: 'listEvents',
        summary: 'Connectivity changes, billing alerts and platform notices, newest first',
        tags: ['Events'],
        querystring: EventQuery,
        response: { 200: pageOf(Event) },
      },
    },
    ({ tenantId, query }) => inTenant(ground, tenantId, (tx) => pageOfEvents(tx, query)),
  )
}
