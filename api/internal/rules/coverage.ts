import { CoverageQuery, RuleCoverage } from '../../../domain/rules/rule-coverage.ts'
import { coverage } from '../../../service/rules/coverage.ts'
import { declareRoutes } from '../../http/declare-routes.ts'
import type { InternalOptions } from '../../options.ts'

const route = declareRoutes<InternalOptions>('Rules')

/** Coverage of an estate by the rules in force. */
export const coverageRoutes = [
  route('GET', '/rules/coverage', {
    operationId: 'showRuleCoverage',
    summary: 'Which SIMs and pools no rule in force can tell anything of, and why; what each rule did',
    description:
      'Counts the whole estate and reads the whole log of the tenant: with a million SIMs it takes seconds. Nothing is locked or written. ' +
      'It is not the coverage of rules by tests, which `simherd rules test --coverage` tells.',
    query: CoverageQuery,
    response: { 200: RuleCoverage },
    slow: true,
    read: (tx, { query }, { rules }) => coverage(tx, query, rules),
  }),
]
