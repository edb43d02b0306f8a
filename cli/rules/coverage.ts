/** `simherd rules coverage`: shows which subjects of a tenant's estate the rules in force cover. */

import { dropUndefined } from '../../domain/drop-undefined.ts'
import type { CoveredKind, RuleCoverage, RuleFigures } from '../../domain/rules/rule-coverage.ts'
import { forTenant } from '../ask-service.ts'
import type { TenantFlags } from '../command.ts'
import { printJson } from '../output.ts'
import { print } from '../print.ts'
import { responseOf } from '../service.ts'
import { type Cell, table } from '../table.ts'
import type { CheckFlags } from './check.ts'

interface CoverageFlags extends CheckFlags, TenantFlags {
  /** Days of the log that firings are counted in. Default: this billing cycle and the one before. */
  readonly days?: number
}

/** As long as the service lets a statement over a whole estate take. */
const TIMEOUT_MS = 5 * 60_000

/** Prints the subjects without an effective rule, with reasons, and each rule's activity. */
export const ruleCoverage = forTenant(
  async (service, { days, output }: CoverageFlags) => {
    const query = dropUndefined({ days, fresh: true })
    const found = await responseOf(service.GET('/internal/rules/coverage', { params: { query } }))
    if (output === 'json') return printJson(found)
    for (const line of coverageLines(found)) print(line)
  },
  { timeoutMs: TIMEOUT_MS },
)

function coverageLines({ version, subjects, rules, since, logSince }: RuleCoverage): string[] {
  const without = subjects.flatMap(withoutRows)
  const never = rules.filter(({ lastFiredAt }) => lastFiredAt === null).map(({ rule }) => rule)
  const ever = logSince === null ? 'its log is empty' : `its log begins ${logSince}`
  return [
    `version ${version}`,
    ...table(
      ['subject', 'in all', 'with a rule', 'without'],
      subjects.map(({ kind, total, withRule }) => [kind, total, withRule, total - withRule]),
    ),
    ...(without.length === 0 ? [] : ['', ...table(['subject', 'without', 'why', 'such as'], without)]),
    '',
    `since ${since}`,
    ...table(
      ['rule', 'stage', 'attached', 'effective', 'fired', 'in shadow', 'in 1 h', 'acked', 'silenced', 'resumed'],
      rules.map(figuresRow),
    ),
    ...(never.length === 0 ? [] : ['', `never fired (${ever}): ${never.join(', ')}`]),
  ]
}

const withoutRows = ({ kind, without }: CoveredKind): Cell[][] =>
  without.map(({ count, words, examples }) => [
    kind,
    count,
    words,
    examples.map(({ id, label }) => (kind === 'tenant' ? label : `${id}: ${label}`)).join(', '),
  ])

const figuresRow = ({ rule, stage, attached, effective, fired, firedInShadow, undone }: RuleFigures): Cell[] => [
  rule,
  stage,
  attached,
  effective,
  fired,
  firedInShadow,
  undone.withinHour,
  undone.acknowledged,
  undone.silences,
  undone.resumed,
]
