import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ExplainQuery, Explanation } from '../../../domain/rules/explanation.ts'
import { rulesInForce } from '../../../service/rules/rules-in-force.ts'
import { explain } from '../../../service/watchdog/explain/explain.ts'
import { inTenant, reading } from '../../../store/tenancy.ts'
import type { InternalOptions } from '../../options.ts'

/** Why rules fired, or did not. */
export const explainRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { store }) => {
  const rules = rulesInForce()
  app.get(
    '/rules/explain',
    {
      config: { problems: ['log_entry_not_found', 'sim_not_found', 'pool_not_found', 'rule_not_found'] },
      schema: {
        operationId: 'explainRules',
        summary: 'Why rules fired or did not: an entry of the log as it was, or a SIM, a pool or the tenant as it is',
        description:
          'An entry is explained by what was kept with it. A subject is evaluated as the watchdog does, and nothing is written: what it would find, what is nearest, and what holds it back. Without an id: the tenant.',
        tags: ['Rules'],
        querystring: ExplainQuery,
        response: { 200: Explanation },
      },
    },
    ({ tenantId, query }) => inTenant(reading(store), tenantId, (tx) => explain(tx, query, rules)),
  )
}
