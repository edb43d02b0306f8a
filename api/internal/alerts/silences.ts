import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { NewSilence, Silence, SilenceQuery } from '../../../domain/alerts/silence.ts'
import { pageOf } from '../../../domain/page.ts'
import { Id, IdResponse } from '../../../domain/schema.ts'
import { pageOfSilences } from '../../../service/alerts/rows/silences.ts'
import { addSilence, endSilence } from '../../../service/alerts/silence-alerts.ts'
import { inTenant, reading } from '../../../store/tenancy.ts'
import { idempotentInTenant } from '../../http/idempotency.ts'
import type { InternalOptions } from '../../options.ts'

const tags = ['Alerts']

/** Silences: hold back mails for a while. */
export const silenceRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { store }) => {
  app.get(
    '/silences',
    {
      schema: {
        operationId: 'listSilences',
        summary: 'Silences, the newest first',
        tags,
        querystring: SilenceQuery,
        response: { 200: pageOf(Silence) },
      },
    },
    ({ tenantId, query }) => inTenant(reading(store), tenantId, (tx) => pageOfSilences(tx, query)),
  )

  app.post(
    '/silences',
    {
      config: { problems: ['sim_not_found', 'pool_not_found', 'silence_limit'] },
      schema: {
        operationId: 'addSilence',
        summary: 'Mail no alerts of a rule, a SIM, a pool, a tag or a level for a while',
        description:
          'Of rule, simId, poolId, tag and level at least one is given; an alert is silenced where all that are given fit. The log, events and suspensions go on. What still fires at the end is mailed then, once; an end is mailed where the beginning was.',
        tags,
        body: NewSilence,
        response: { 200: IdResponse },
      },
    },
    (request, reply) => idempotentInTenant(store, { request, reply }, (tx) => addSilence(tx, request.body)),
  )

  app.post(
    '/silences/:id/end',
    {
      config: { problems: ['silence_not_found'] },
      schema: {
        operationId: 'endSilence',
        summary: 'End a silence now',
        tags,
        params: Type.Object({ id: Id('Silence') }),
        response: { 200: IdResponse },
      },
    },
    (request, reply) => idempotentInTenant(store, { request, reply }, (tx) => endSilence(tx, request.params.id)),
  )
}
