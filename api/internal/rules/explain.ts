import { ExplainQuery, Explanation } from '../../../domain/rules/explanation.ts'
import { explain } from '../../../service/watchdog/explain/explain.ts'
import { declareRoutes } from '../../http/declare-routes.ts'
import type { InternalOptions } from '../../options.ts'

const route = declareRoutes<InternalOptions>('Rules')

/** Why rules fired, or did not. */
export const explainRoutes = [
  route('GET', '/rules/explain', {
    operationId: 'explainRules',
    summary: 'Why rules fired or did not: an entry of the log as it was, or a SIM, a pool or the tenant as it is',
    description:
      'An entry is explained by what was kept with it. A subject is evaluated as the watchdog does, and nothing is written: what it would find, what is nearest, and what holds it back. Without an id: the tenant.',
    problems: ['log_entry_not_found', 'sim_not_found', 'pool_not_found', 'rule_not_found'],
    query: ExplainQuery,
    response: { 200: Explanation },
    read: (tx, { query }, { rules }) => explain(tx, query, rules),
  }),
]
