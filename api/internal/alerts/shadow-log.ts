import { ShadowEntry, ShadowQuery } from '../../../domain/alerts/shadow-entry.ts'
import { pageOf } from '../../../domain/page.ts'
import { pageOfShadowLog } from '../../../service/alerts/rows/shadow-log.ts'
import { declareRoutes } from '../../http/declare-routes.ts'
import type { InternalOptions } from '../../options.ts'

const route = declareRoutes<InternalOptions>('Rules')

/** The log of rules in shadow. */
export const shadowLogRoutes = [
  route('GET', '/rules/shadow-log', {
    operationId: 'listShadowLog',
    summary: 'What rules in stage shadow would have logged, mailed and suspended; newest first',
    description: 'For the operator alone: a tenant sees none of it. Kept for 90 days.',
    query: ShadowQuery,
    response: { 200: pageOf(ShadowEntry) },
    cursor: 'shadow',
    walk: (tx, { query }) => pageOfShadowLog(tx, query),
  }),
]
