/** The rule set in force, the activity of its rules in the tenant, and the versions. */
import { html } from 'hono/html'
import { type Static, Type } from 'typebox'
import { instant } from '../../../domain/local-time.ts'
import { cutPage, pageQuery } from '../../../domain/page.ts'
import { count, counted } from '../../../domain/quantity.ts'
import type { RuleChange } from '../../../domain/rules/rule-change.ts'
import type { RuleCoverage } from '../../../domain/rules/rule-coverage.ts'
import { dataOf, mustAnswer, type Part } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import type { Html } from '../../parts/html.ts'
import { linkTo, nextPage } from '../../parts/list.ts'
import { ago, facts, instantMark, missingLine, notice, panel } from '../../parts/marks.ts'
import type { PageTenant } from '../../parts/page.ts'
import { actsOn } from './acts.ts'
import { authorWords, changeTable, reasonWords, SUBJECTS, stageBadge, versionLink } from './marks.ts'
import { activeVersion, type InForce, readCoverage, readRules } from './read.ts'

/** Pages of the versions, and of the rules. */
export const RulesQuery = Type.Object({ page: pageQuery.page, rules: pageQuery.page })
export type RulesQuery = Static<typeof RulesQuery>

const MOST_ROWS = 50

export async function rulesPage(calls: Calls, { id }: PageTenant, query: RulesQuery, now: number): Promise<Html> {
  const { inside } = calls
  const { page = 1, rules: part = 1 } = query
  const history = (asked: object) =>
    mustAnswer(inside.GET('/internal/rules/versions', { params: { query: { pageSize: MOST_ROWS, ...asked } } }))
  const [set, coverage, versions] = await Promise.all([readRules(calls), readCoverage(calls), history({ page })])
  const { version, refused, rules } = set
  const [activation] = version === 0 ? [] : (await history({ version, pageSize: 1 })).data
  const known = dataOf(coverage)
  const note = known === undefined ? '' : `fired since ${instant(known.since)}, counted ${instant(known.at)}`
  const { data: shown, pagination } = cutPage(rules, part, MOST_ROWS)
  const path = `/t/${id}/rules`
  return html`<div class="head"><h1>Rules</h1>
${activeVersion(set) === 0 ? '' : actsOn(id, activeVersion(set), set)}
</div>
${refused === null ? '' : notice('critical', 'critical', html`Version ${refused.version} was put in force, and this build refuses it: <bdi>${refused.reason}</bdi>`)}
${activation === undefined ? NONE : panel({ title: 'In force', id: 'set', note: 'for every tenant' }, setFacts(id, set, activation))}
${panel({ title: 'Rules', id: 'in-force', note }, ruleTable(path, { ...set, rules: shown }, coverage, now))}
${part < pagination.totalPages ? html`<p class="pages"><a href="${linkTo(path, { ...query, rules: part + 1 })}">More rules</a></p>` : ''}
${panel({ title: 'Versions', id: 'versions', note: 'newest first' }, changeTable(id, versions.data, now))}
${nextPage(path, query, versions.pagination)}`
}

const NONE = html`<p class="empty">No rule is in force. <code>npx simherd rules load &lt;folder&gt;</code> puts some in force.</p>`

const setFacts = (tenantId: string, { version, heard }: InForce, activation: RuleChange): Html =>
  facts([
    ['Set', versionLink(tenantId, version)],
    ['Since', instantMark(activation.at)],
    ['By', authorWords(activation)],
    ['Reason', reasonWords(activation.reason)],
    ['Reached', `${count(heard.tenants)} of ${counted(heard.of, 'tenant')}`],
  ])

function ruleTable(path: string, { rules }: InForce, coverage: Part<RuleCoverage>, now: number): Html {
  const figures = new Map(dataOf(coverage)?.rules.map((one) => [one.rule, one]))
  return html`<table>
<thead><tr><th scope="col">Rule</th><th scope="col" class="wide">About</th><th scope="col">Stage</th><th scope="col" class="number wide">Attached</th><th scope="col" class="number">Fired</th><th scope="col" class="wide">Last fired</th></tr></thead>
<tbody>
${rules.map(({ name, subject, stage }) => {
  const found = figures.get(name)
  return html`<tr id="rule-${name}">
<th scope="row"><a href="${path}/${name}">${name}</a></th>
<td class="wide">${SUBJECTS[subject]}</td>
<td>${stageBadge(stage)}</td>
<td class="number wide">${found === undefined ? '' : count(found.attached)}</td>
<td class="number">${found === undefined ? '' : count(found.fired + found.firedInShadow)}</td>
<td class="wide">${found === undefined ? '' : ago(found.lastFiredAt, now)}</td>
</tr>`
})}
</tbody>
</table>
${coverage !== null && 'missing' in coverage ? missingLine(coverage) : ''}`
}
