import { Type } from 'typebox'
import { NewSilence, Silence, SilenceQuery } from '../../../domain/alerts/silence.ts'
import { pageOf } from '../../../domain/page.ts'
import { Id, IdResponse } from '../../../domain/schema.ts'
import { pageOfSilences } from '../../../service/alerts/rows/silences.ts'
import { addSilence, endSilence } from '../../../service/alerts/silence-alerts.ts'
import { declareRoutes } from '../../http/declare-routes.ts'
import type { InternalOptions } from '../../options.ts'

const route = declareRoutes<InternalOptions>('Alerts')

/** Silences: hold back mails for a while. */
export const silenceRoutes = [
  route('GET', '/silences', {
    operationId: 'listSilences',
    summary: 'Silences, the newest first',
    query: SilenceQuery,
    response: { 200: pageOf(Silence) },
    read: (tx, { query }) => pageOfSilences(tx, query),
  }),
  route('POST', '/silences', {
    operationId: 'addSilence',
    summary: 'Mail no alerts of a rule, a SIM, a pool, a tag or a level for a while',
    description:
      'Of rule, simId, poolId, tag and level at least one is given; an alert is silenced where all that are given fit. The log, events and suspensions go on. What still fires at the end is mailed then, once; an end is mailed where the beginning was.',
    problems: ['sim_not_found', 'pool_not_found', 'silence_limit'],
    body: NewSilence,
    response: { 200: IdResponse },
    change: (tx, { body }) => addSilence(tx, body),
  }),
  route('POST', '/silences/:id/end', {
    operationId: 'endSilence',
    summary: 'End a silence now',
    problems: ['silence_not_found'],
    params: Type.Object({ id: Id('Silence') }),
    response: { 200: IdResponse },
    change: (tx, { params }) => endSilence(tx, params.id),
  }),
]
