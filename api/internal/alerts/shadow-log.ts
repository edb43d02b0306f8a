import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ShadowEntry, ShadowQuery } from '../../../domain/alerts/shadow-entry.ts'
import { pageOf } from '../../../domain/page.ts'
import { pageOfShadowLog } from '../../../service/alerts/rows/shadow-log.ts'
import { inTenant, reading } from '../../../store/tenancy.ts'
import { linked, takesCursor } from '../../http/links.ts'
import type { InternalOptions } from '../../options.ts'

/** The log of rules in shadow. */
export const shadowLogRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { store }) => {
  app.get(
    '/rules/shadow-log',
    {
      schema: {
        operationId: 'listShadowLog',
        summary: 'What rules in stage shadow would have logged, mailed and suspended; newest first',
        description: 'For the operator alone: a tenant sees none of it. Kept for 90 days.',
        tags: ['Rules'],
        querystring: ShadowQuery,
        response: { 200: pageOf(ShadowEntry) },
      },
      preValidation: takesCursor('shadow'),
    },
    async (request, reply) =>
      linked(
        request,
        reply,
        await inTenant(reading(store), request.tenantId, (tx) => pageOfShadowLog(tx, request.query)),
      ),
  )
}
