import { ExplainQuery, Explanation } from '../../../domain/rules/explanation.ts'
import { explain } from '../../../service/watchdog/explain/explain.ts'
import { declareRoutes } from '../../http/declare-routes.ts'
import type { InternalOptions } from '../../options.ts'

const route = declareRoutes<InternalOptions>('Rules')

/** Why rules fired, or did not. */
export const explainRoutes = [
  route('GET', '/rules/explain', {
    operationId: 'explainRules',
    summary: 'Explain why rules fired or did not, for a past log entry, or for a SIM, pool or the tenant now',
    description:
      'An entry is explained from its stored data. A subject is evaluated as by the watchdog, without writing: the result, the nearest changes, and the obstacles. Without an id: the tenant.',
    problems: ['log_entry_not_found', 'sim_not_found', 'pool_not_found', 'rule_not_found'],
    query: ExplainQuery,
    response: { 200: Explanation },
    read: (tx, { query }, { rules }) => explain(tx, query, rules),
  }),
]
