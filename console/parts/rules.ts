/** The rules that judge a subject, as they stand now. */
import { html } from 'hono/html'
import { count } from '../../domain/quantity.ts'
import type { ExplainedRule } from '../../domain/rules/explanation.ts'
import type { Html } from './html.ts'

const isQuiet = ({ phase }: ExplainedRule): boolean => phase === null || phase === 'inactive' || phase === 'resolved'

/** Rules attached to a subject: those that do something, and the quiet ones folded. */
export function ruleTable(rules: readonly ExplainedRule[]): Html {
  const quiet = rules.filter(isQuiet)
  const loud = rules.filter((rule) => !isQuiet(rule))
  const folded = html`<details><summary>${count(quiet.length)} ${quiet.length === 1 ? 'rule is' : 'rules are'} quiet</summary>
${rows(quiet)}</details>`
  return html`${loud.length === 0 ? html`<p class="empty">No rule fires.</p>` : rows(loud)}
${quiet.length === 0 ? '' : folded}`
}

const rows = (rules: readonly ExplainedRule[]): Html => html`<table>
<thead><tr><th scope="col">Rule, and what would change it</th><th scope="col" class="number">Now</th></tr></thead>
<tbody>
${rules.map(
  (
    rule,
  ) => html`<tr><th scope="row"><bdi>${rule.rule}</bdi><small>${rule.nearest[0]?.words ?? 'nothing nearby'}</small></th>
<td class="number"><span class="badge ${isQuiet(rule) ? 'quiet' : 'critical'}">${rule.phase ?? 'not decided'}</span></td></tr>`,
)}
</tbody>
</table>`
