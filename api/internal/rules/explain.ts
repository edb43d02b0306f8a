import { ShadowEntry, ShadowQuery } from '../../../domain/alerts/shadow-entry.ts'
import { pageOf } from '../../../domain/page.ts'
import { ExplainQuery, Explanation } from '../../../domain/rules/explanation.ts'
import { CoverageQuery, RuleCoverage } from '../../../domain/rules/rule-coverage.ts'
import { pageOfShadowLog } from '../../../service/alerts/rows/shadow-log.ts'
import { coverage, keepCoverage } from '../../../service/rules/coverage.ts'
import { explain } from '../../../service/watchdog/explain/explain.ts'
import { inTenant, readOnly } from '../../../store/tenancy.ts'
import { internalRoutes } from '../../http/declare-routes.ts'
import { keptRoute, keptWords } from '../../http/kept-route.ts'

const route = internalRoutes('Rules')

/** Effects of rules: why they fired or did not, their coverage of an estate, and the log of rules in shadow. */
export const explainRoutes = [
  route('GET', '/rules/explain', {
    operationId: 'explainRules',
    summary: 'Explain why rules fired or did not, for a past log entry, or for a SIM, pool, tag or the tenant now',
    description:
      'An entry is explained from its stored data. A subject is evaluated as by the watchdog, without writing: the result, the nearest changes, and the obstacles. Without an id: the tenant.',
    problems: ['log_entry_not_found', 'sim_not_found', 'pool_not_found', 'tag_not_found', 'rule_not_found'],
    query: ExplainQuery,
    response: { 200: Explanation },
    read: (tx, { query }, { rules }) => explain(tx, query, rules),
  }),
  keptRoute(
    ({ rules }) => keepCoverage(rules),
    (answer) =>
      route('GET', '/rules/coverage', {
        operationId: 'showRuleCoverage',
        summary: 'SIMs and pools without an effective rule, with reasons; and the activity of every rule',
        description: `Counts the whole estate and reads the whole log of the tenant: takes seconds with a million SIMs. ${keptWords('at')} The first request after a change of the rules waits for them. With \`days\` or \`fresh\` every request adds them up. For the coverage of rules by tests, see \`simherd rules test --coverage\`.`,
        query: CoverageQuery,
        response: { 200: RuleCoverage },
        slow: true,
        handle: (request, { store, rules }) =>
          request.query.days === undefined
            ? answer(store, request, '', request.query.fresh)
            : inTenant(readOnly(store), request.tenantId, (tx) => coverage(tx, request.query, rules)),
      }),
  ),
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
