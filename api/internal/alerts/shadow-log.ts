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
    summary: 'Log of rules in stage shadow: simulated log entries, mails and suspensions; newest first',
    description: 'Only for the operator, invisible to tenants. Kept for 90 days.',
    query: ShadowQuery,
    response: { 200: pageOf(ShadowEntry) },
    cursor: 'shadow',
    walk: (tx, { query }) => pageOfShadowLog(tx, query),
  }),
]
