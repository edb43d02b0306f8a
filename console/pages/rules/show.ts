/** The page of a rule in force: whom it is for, its activity in the tenant, its text. */
import { html } from 'hono/html'
import { ServiceError } from '../../../domain/errors.ts'
import { instant } from '../../../domain/local-time.ts'
import { count, counted } from '../../../domain/quantity.ts'
import type { RuleCoverage } from '../../../domain/rules/rule-coverage.ts'
import { dataOf } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import type { Html } from '../../parts/html.ts'
import { linkTo } from '../../parts/list.ts'
import { ago, facts, panel, panelOf } from '../../parts/marks.ts'
import type { PageTenant } from '../../parts/page.ts'
import { STAGE_WORDS, SUBJECTS, sourceText, stageBadge, testsPanel, versionLink, versionPath } from './marks.ts'
import { type RuleInForce, readCoverage, readRules, readVersion } from './read.ts'

/** @throws ServiceError `rule_not_found`, `forbidden` */
export async function rulePage(calls: Calls, { id }: PageTenant, name: string, now: number): Promise<Html> {
  const { version, rules } = await readRules(calls)
  const rule = rules.find((one) => one.name === name)
  if (rule === undefined) throw new ServiceError('rule_not_found', `No rule ${name} is in force.`)
  const [{ files, tests }, coverage] = await Promise.all([readVersion(calls, version), readCoverage(calls)])
  const known = dataOf(coverage)
  const { description, stage, file } = rule
  const alerts = (ended?: true) => linkTo(`/t/${id}/alerts`, { rule: name, ended })
  const rows: readonly (readonly [string, Html | string])[] = [
    ['For', matchWords(rule)],
    ['Stage', `${stage}: ${STAGE_WORDS[stage]}`],
    ['File', html`<bdi>${file}</bdi> of ${versionLink(id, version)}`],
    ['Alerts', html`<a href="${alerts()}">Open</a>, <a href="${alerts(true)}">ended</a>`],
  ]
  return html`<div class="head"><div>
<p class="crumbs"><a href="/t/${id}/rules">Rules</a></p>
<h1>${name} ${stageBadge(stage)}</h1>
<p class="lead"><bdi>${description}</bdi></p>
</div></div>
${panel({ title: 'Rule', id: 'rule' }, facts(rows))}
${panelOf({ title: 'In this tenant', id: 'activity', note: known === undefined ? '' : `counted ${instant(known.at)}` }, coverage, (found) => activity(rule, found, now))}
${testsPanel(
  versionPath(id, version),
  tests.filter((one) => one.rules.includes(name)),
)}
${files.filter((one) => one.file === file).map((one) => panel({ title: 'Text', id: 'text' }, sourceText(one)))}`
}

/** The subjects that a rule is attached to: `SIMs: tag meter-*, tariffType Standard`. */
function matchWords({ subject, match }: RuleInForce): Html {
  const fields = Object.entries(match).map(([field, value]) => `${field} ${[value].flat().join(' or ')}`)
  return html`${SUBJECTS[subject]}${fields.length === 0 ? ', all of them' : html`: <bdi>${fields.join(', ')}</bdi>`}`
}

/** Figures of a rule, and the subjects of its kind that no rule at all is effective for. */
function activity({ name, subject }: RuleInForce, { rules, subjects, since }: RuleCoverage, now: number): Html {
  const figures = rules.find(({ rule }) => rule === name)
  const kind = subjects.find((one) => one.kind === subject)
  if (figures === undefined || kind === undefined) return html`<p class="empty">The rules have just changed.</p>`
  const { attached, effective, fired, firedInShadow, lastFiredAt, undone } = figures
  const isLess = effective < attached ? '. The stage, or their settings, rule it out for the others' : ''
  return html`${facts([
    ['Attached', `to ${count(attached)} of ${count(kind.total)}`],
    ['Effective', `for ${count(effective)}${isLess}`],
    ['Fired', `${count(fired)}, and ${count(firedInShadow)} in shadow, since ${instant(since)}`],
    ['Last fired', ago(lastFiredAt, now)],
    ['Of these', `${count(undone.withinHour)} ended within an hour, ${count(undone.acknowledged)} acknowledged`],
    ['Undone', `${counted(undone.silences, 'silence')}, ${counted(undone.resumed, 'suspension')} taken back`],
  ])}
${
  kind.without.length === 0
    ? ''
    : html`<h3>${SUBJECTS[subject]} without any effective rule</h3>
${facts(kind.without.map(({ count: some, words }) => [count(some), words]))}`
}`
}
