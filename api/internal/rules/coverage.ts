import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { CoverageQuery, RuleCoverage } from '../../../domain/rules/rule-coverage.ts'
import { coverage } from '../../../service/rules/coverage.ts'
import { rulesInForce } from '../../../service/rules/rules-in-force.ts'
import { inTenant, reading, slowly } from '../../../store/tenancy.ts'
import type { InternalOptions } from '../../options.ts'

/** Coverage of an estate by the rules in force. */
export const coverageRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { store }) => {
  const rules = rulesInForce()
  app.get(
    '/rules/coverage',
    {
      schema: {
        operationId: 'showRuleCoverage',
        summary: 'Which SIMs and pools no rule in force can tell anything of, and why; what each rule did',
        description:
          'Counts the whole estate and reads the whole log of the tenant: with a million SIMs it takes seconds. Nothing is locked or written. ' +
          'It is not the coverage of rules by tests, which `simherd rules test --coverage` tells.',
        tags: ['Rules'],
        querystring: CoverageQuery,
        response: { 200: RuleCoverage },
      },
    },
    ({ tenantId, query }) => inTenant(slowly(reading(store)), tenantId, (tx) => coverage(tx, query, rules)),
  )
}
