import { CoverageQuery, RuleCoverage } from '../../../domain/rules/rule-coverage.ts'
import { coverage } from '../../../service/rules/coverage.ts'
import { declareRoutes } from '../../http/declare-routes.ts'
import type { InternalOptions } from '../../options.ts'

const route = declareRoutes<InternalOptions>('Rules')

/** Coverage of an estate by the rules in force. */
export const coverageRoutes = [
  route('GET', '/rules/coverage', {
    operationId: 'showRuleCoverage',
    summary: 'SIMs and pools without an effective rule, with reasons; and the activity of every rule',
    description:
      'Counts the whole estate and reads the whole log of the tenant: takes seconds with a million SIMs. Locks ' +
      'and writes nothing. For the coverage of rules by tests, see `simherd rules test --coverage`.',
    query: CoverageQuery,
    response: { 200: RuleCoverage },
    slow: true,
    read: (tx, { query }, { rules }) => coverage(tx, query, rules),
  }),
]
