/** Changes queued for the end of the billing cycle. Queued by tickets; taken back here. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { IdResponse } from '../../../domain/schema.ts'
import { takeBackChange } from '../../../service/month-end/queue-change.ts'
import { takeNoBody } from '../../http/app.ts'
import { changeInTenant } from '../../http/change.ts'
import { SimParams } from '../../http/params.ts'
import type { InternalOptions } from '../../options.ts'

export const queuedChangeRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { store }) => {
  takeNoBody(app)
  app.delete(
    '/sims/:id/queued-change',
    {
      config: { problems: ['sim_not_found', 'sim_state_conflict'], versioned: true },
      schema: {
        operationId: 'takeBackQueuedChange',
        summary: 'Take back what is queued for the end of the billing cycle: pool, tariff or unprovisioning',
        description:
          'With nothing queued nothing changes. What a month end has opened a ticket for is taken back by that ' +
          'ticket, while it is pending.',
        tags: ['SIMs'],
        params: SimParams,
        response: { 200: IdResponse },
      },
    },
    (request) => {
      const { id } = request.params
      return changeInTenant(store, request, (tx) => takeBackChange(tx, id), { kind: 'sim', id })
    },
  )
}
