/** Enforcement of a tenant: its switch, SIMs suspended now by rule, decisions, limits of the guard. */
import { html } from 'hono/html'
import type { EnforcementSettings, Hold } from '../../../domain/enforcement/guard.ts'
import type { SuspendingRules } from '../../../domain/enforcement/undo.ts'
import { count, counted } from '../../../domain/quantity.ts'
import { tryAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import { actLinks } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { linkTo } from '../../parts/list.ts'
import { ago, facts, line, panel, panelOf } from '../../parts/marks.ts'
import type { PageTenant } from '../../parts/page.ts'
import { heldWords } from '../decisions/acts.ts'
import { switchOf } from './acts.ts'

const MOST_HOLDS = 20

/** @param said notice of an act just before */
export async function enforcementPage(
  { inside }: Calls,
  tenant: PageTenant,
  settings: EnforcementSettings,
  { now, said }: { readonly now: number; readonly said: Html | '' },
): Promise<Html> {
  const [rules, holds] = await Promise.all([
    tryAnswer(inside.GET('/internal/enforcement/suspending-rules')),
    tryAnswer(inside.GET('/internal/enforcement/holds', { params: { query: { pageSize: MOST_HOLDS } } })),
  ])
  const path = `/t/${tenant.id}`
  return html`<div class="head">
<div>
<h1>Enforcement <span class="badge ${settings.enabled ? 'good' : 'warning'}">${settings.enabled ? 'On' : 'Stopped'}</span></h1>
<p class="lead">${settings.enabled ? 'Rules suspend SIMs, as their watchdog modes say.' : 'No rule suspends a SIM. Alerts, log and mails go on.'}</p>
</div>
${actLinks(`${path}/enforcement`, [switchOf(settings)])}
</div>
${said}
<div class="columns">
<div>
${panelOf({ title: 'Suspended now', id: 'suspended', note: 'by rule' }, rules, (found) => ruleList(path, found, now))}
${panelOf({ title: 'Decisions', id: 'decisions', note: 'newest first' }, holds, ({ data }) => holdList(path, data, now))}
</div>
<div>
${panel({ title: 'Unasked in an hour', id: 'guard', note: 'the rest waits for a decision' }, facts(limitsOf(settings)))}
</div>
</div>`
}

const ruleList = (path: string, { rules }: SuspendingRules, now: number): Html =>
  rules.length === 0
    ? html`<p class="empty">No rule has a SIM suspended.</p>`
    : html`<table>
<thead><tr><th scope="col">Rule</th><th scope="col" class="number">SIMs</th><th scope="col" class="wide number">First</th><th scope="col" class="number">Last</th><th scope="col"><span class="hidden">Act</span></th></tr></thead>
<tbody>
${rules.map(
  ({ rule, sims, isWhole, firstAt, lastAt }) => html`<tr>
<th scope="row"><bdi>${rule}</bdi></th>
<td class="number">${count(sims)}${isWhole ? '' : ' or more'}</td>
<td class="wide number">${ago(firstAt, now)}</td>
<td class="number">${ago(lastAt, now)}</td>
<td><a href="${linkTo(`${path}/enforcement/undo`, { rule, since: firstAt })}">Undo… <span class="hidden">${rule}</span></a></td>
</tr>`,
)}
</tbody>
</table>`

const holdList = (path: string, holds: readonly Hold[], now: number): Html =>
  holds.length === 0
    ? html`<p class="empty">None: no rule has reached its limit.</p>`
    : html`<ul class="log">
${holds.map((hold) =>
  line(
    'hold',
    html`<a href="${path}/decisions/${hold.id}">Decision ${hold.id}</a>: ${heldWords(hold)} of rule <bdi>${hold.rule}</bdi>, ${hold.state}`,
    ago(hold.openedAt, now),
  ),
)}
</ul>`

const limitsOf = ({ guardLeast, guardPct, alertGuardLeast, alertGuardPct }: EnforcementSettings) =>
  [
    ['Suspensions', `${counted(guardLeast, 'SIM')}, or ${guardPct} % of a pool or of all if that is more, by one rule`],
    ['New alerts', `${count(alertGuardLeast)}, or ${alertGuardPct} % of all if that is more, by one rule`],
  ] as const
