/** The page of an alert: its effects, withheld actions, next steps, reasons and course. */
import { html } from 'hono/html'
import type { Alert, AlertDetail } from '../../../domain/alerts/alert.ts'
import { WITHHELD } from '../../../domain/alerts/withheld.ts'
import type { Consequences, Decision, ExplainedRule, Explanation } from '../../../domain/rules/explanation.ts'
import { capital } from '../../../domain/text.ts'
import { idsOf } from '../../../domain/watchdog/subject.ts'
import { dataOf, type Part, tryAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import { actLinks } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { type IconName, icon } from '../../parts/icon.ts'
import {
  ago,
  entryRow,
  facts,
  instantMark,
  levelBadge,
  line,
  logRow,
  notice,
  often,
  panel,
  panelOf,
} from '../../parts/marks.ts'
import type { PageTenant } from '../../parts/page.ts'
import { mailLink } from '../mails/marks.ts'
import { poolLink } from '../pools/marks.ts'
import { versionPath } from '../rules/marks.ts'
import { workflowLink } from '../workflows/marks.ts'
import { actsOn, silenceWords } from './acts.ts'
import { acknowledger, phaseBadge, subjectLink } from './marks.ts'

/** @param said notice of an act just before */
export async function alertPage(
  { inside, outside }: Calls,
  tenant: PageTenant,
  alert: AlertDetail,
  { now, said }: { readonly now: number; readonly said: Html | '' },
): Promise<Html> {
  const { id, rule, subject, poolId } = alert
  const query = { rule, ...idsOf(subject) }
  const [explanation, pool] = await Promise.all([
    // The present does not explain an ended alert.
    alert.phase === 'resolved' ? null : tryAnswer(inside.GET('/internal/rules/explain', { params: { query } })),
    poolId === null ? null : tryAnswer(outside.GET('/api/pools/{id}', { params: { path: { id: poolId } } })),
  ])
  const explained = ruleIn(explanation, rule)
  const poolWords = poolId === null ? 'none' : poolLink(tenant.id, poolId, dataOf(pool)?.name)
  const path = `/t/${tenant.id}/alerts`
  return html`<div class="head">
<div>
<p class="crumbs"><a href="${path}">Alerts</a> / <bdi>${rule}</bdi></p>
<h1><span>${subjectLink(tenant.id, subject)}</span> ${levelBadge(alert.level)} ${phaseBadge(alert)}</h1>
<p class="lead"><bdi>${alert.message ?? 'No report of it was due.'}</bdi></p>
<p class="mute">${verdict(alert, now)}</p>
</div>
${actLinks(`${path}/${id}`, actsOn(alert))}
</div>
${said}
${alert.error === null ? '' : notice('critical', 'critical', html`<strong>It could not be decided</strong>, and stays as it was. <bdi>${alert.error}</bdi>`)}
<div class="columns">
<div>
${withheldPanel(tenant.id, alert, explained?.decisions ?? [])}
${panel({ title: 'What happens next', id: 'next' }, nextList(alert, explained?.decisions ?? []))}
${panel({ title: 'What it did', id: 'did', note: 'in this episode' }, did(tenant.id, alert, now))}
${panel({ title: 'Course', id: 'course', note: 'newest first' }, course(tenant.id, alert, now))}
</div>
<div>
${panelOf({ title: 'Why', id: 'why' }, explanation, () => why(explained))}
${panel({ title: 'State', id: 'state' }, facts(stateOf(tenant.id, alert, poolWords, now)))}
</div>
</div>`
}

const ruleIn = (part: Part<Explanation>, name: string): ExplainedRule | undefined =>
  dataOf(part)?.rules.find(({ rule }) => rule === name)

const VERDICTS: Readonly<Record<Alert['phase'], string>> = {
  pending: 'Its conditions are met, and it does not fire yet, since',
  firing: 'Firing since',
  recovering: 'Its conditions are no longer met, and it fires on, since',
  resolved: 'Ended at',
}

const verdict = ({ phase, since, metSince, times }: AlertDetail, now: number): Html => html`
${VERDICTS[phase]} ${instantMark(since)}, ${ago(since, now)}.${
  phase === 'firing' && metSince !== since ? html` Conditions met since ${instantMark(metSince)}.` : ''
}${times > 1 ? ` It has fired ${often(times)}.` : ''}`

/** Kinds of decisions that say the same as a reason for withholding, in more words. */
const SAYS: Readonly<Record<Alert['withheld'][number], readonly Decision['what'][]>> = {
  silenced: ['silenced'],
  inhibited: ['inhibited'],
  unsubscribed: ['unsubscribed'],
  held: ['held', 'discarded'],
  nodata: ['stale'],
  stage: ['stage'],
  mode: ['mode'],
}

function withheldPanel(
  tenantId: string,
  { withheld, silences }: AlertDetail,
  decisions: readonly Decision[],
): Html | '' {
  if (withheld.length === 0 && silences.length === 0) return ''
  const reasons = withheld.map((one) => ({
    one,
    words: decisions.find(({ what }) => SAYS[one].includes(what))?.words ?? `${capital(WITHHELD[one].words)}.`,
  }))
  return panel(
    { title: 'What is withheld', id: 'withheld' },
    html`<ul class="log">
${reasons.map(({ one, words }) => line(ICONS[one] ?? 'silence', words))}
${silences.map((one) => line('silence', html`${silenceWords(one)} <small><a href="/t/${tenantId}/silences/${one.id}">Silence ${one.id}</a></small>`))}
</ul>`,
  )
}

/** Of reasons that hold back more than mails. */
const ICONS: Readonly<Partial<Record<Alert['withheld'][number], IconName>>> = {
  held: 'hold',
  nodata: 'hold',
  stage: 'info',
  mode: 'info',
}

/** Shown elsewhere on the page. */
const SAID: ReadonlySet<Decision['what']> = new Set([...Object.values(SAYS).flat(), 'tells', 'toldBefore'])

/** Next steps of an alert, as sentences. */
export function nextWords(
  {
    phase,
    suspension,
    withheld,
    acknowledgedAt,
    silences,
  }: Pick<AlertDetail, 'phase' | 'suspension' | 'withheld' | 'acknowledgedAt' | 'silences'>,
  decisions: readonly Pick<Decision, 'what' | 'words'>[],
): string[] {
  if (phase === 'resolved') return ['It has ended: nothing, unless its conditions are met again.']
  const until = suspension?.until
  return [
    ...decisions
      .filter(({ what }) => !SAID.has(what) && (what !== 'suspends' || suspension === null))
      .map(({ words }) => words),
    ...(withheld.includes('held')
      ? ['It waits for a person: released, it is mailed and acted on; discarded, neither.']
      : []),
    ...(withheld.includes('nodata') ? ['It is decided again when usage comes in.'] : []),
    ...(until === 'renewal' ? ['The SIM comes back by itself when the next billing cycle begins.'] : []),
    ...(suspension !== null && until !== 'renewal' ? ['The SIM stays suspended until a person brings it back.'] : []),
    ...(silences.length > 0 ? ['If it still fires at the end of the silence, it is mailed then.'] : []),
    ...(acknowledgedAt === null ? [] : ['It is acknowledged, so it is not escalated.']),
  ]
}

function nextList(alert: AlertDetail, decisions: readonly Decision[]): Html {
  const words = nextWords(alert, decisions)
  return words.length === 0
    ? html`<p class="empty">Nothing, until what it watches changes.</p>`
    : html`<ul class="log">${words.map((one) => line('next', one))}</ul>`
}

function did(tenantId: string, { suspension, episodes }: AlertDetail, now: number): Html {
  const rows = [
    ...(suspension === null ? [] : [suspensionLine(tenantId, suspension, now)]),
    ...(episodes[0] === undefined ? [] : followedLines(tenantId, episodes[0].followed, now)),
  ]
  return rows.length === 0
    ? html`<p class="empty">Nothing so far: no mail, ticket, hold or workflow.</p>`
    : html`<ul class="log">${rows}</ul>`
}

const suspensionLine = (
  tenantId: string,
  { openedAt, until, workflowId }: NonNullable<AlertDetail['suspension']>,
  now: number,
): Html => {
  const end = until === 'renewal' ? 'until the next billing cycle' : 'until a person acts'
  return line(
    'suspended',
    html`<strong>Suspended the SIM</strong>, ${end}${workflowId === null ? '' : html`<small>${workflowLink(tenantId, workflowId, workflowId)}</small>`}`,
    ago(openedAt, now),
  )
}

const followedLines = (tenantId: string, { mails, tickets, workflows, holds }: Consequences, now: number): Html[] => [
  ...holds.map(({ id, state }) =>
    line(
      'hold',
      html`<a href="/t/${tenantId}/decisions/${id}">Decision ${id}</a> of the guard: ${state === 'held' ? 'waits for a person' : state}`,
    ),
  ),
  ...tickets.map(({ id, simId, type, status }) =>
    line(
      'ticket',
      html`<a href="/t/${tenantId}/tickets/${id}">${type} ticket</a> of <a href="/t/${tenantId}/sims/${simId}">SIM ${simId}</a>: ${status}<small>${id}</small>`,
    ),
  ),
  ...workflows.map(({ id, state, at }) =>
    line('workflow', html`${workflowLink(tenantId, id, 'Workflow')} ${state}<small>${id}</small>`, ago(at, now)),
  ),
  ...mails.map(({ id, recipient, status, at }) =>
    line(
      'mail',
      html`${id === null ? 'Mail' : mailLink(tenantId, id, 'Mail')} to <bdi>${recipient ?? 'whom its address names'}</bdi>: ${status}`,
      status === 'sent' ? ago(at, now) : instantMark(at),
    ),
  ),
]

type Episode = AlertDetail['episodes'][number]

const course = (tenantId: string, { episodes }: AlertDetail, now: number): Html =>
  html`${episodes.map(
    (one, n) => html`<h3>${span(one)}</h3>
${log(one, now, n === 0 ? [] : followedLines(tenantId, one.followed, now))}`,
  )}`

const ENDS = { resolved: ', resolved', withdrawn: ', withdrawn: its rule no longer covers it' } as const

const span = ({ beganAt, endedAt, end }: Episode): Html => html`
${beganAt === null ? 'Beginning not logged' : instantMark(beganAt)} – ${endedAt === null ? (end === null ? 'now' : 'end not logged') : instantMark(endedAt)}${end === null ? '' : ENDS[end]}`

function log({ followed: { entries } }: Episode, now: number, others: readonly Html[]): Html {
  if (entries.length + others.length === 0) return html`<p class="empty">No entry in the log.</p>`
  return html`<ol class="log">
${entries.toReversed().map((entry) => entryRow(entry, now))}
${others}
</ol>`
}

/** The comparisons of the rule, and the nearest changes. */
function why(rule: ExplainedRule | undefined): Html {
  if (rule === undefined) return html`<p class="empty">No rule of this name is in force.</p>`
  const { leaves, nearest, misfits } = rule
  return html`<ul class="log">
${misfits.map(({ words }) => line('info', words))}
${leaves.map(leafLine)}
${nearest.map(({ words }) => line('next', html`<span class="mute">${words}</span>`))}
</ul>`
}

const RESULTS: Readonly<Record<string, readonly [IconName, string, string]>> = {
  true: ['check', 'critical', 'Met:'],
  false: ['no', 'quiet', 'Not met:'],
}

const leafLine = ({ result, words }: ExplainedRule['leaves'][number]): Html => {
  const [name, tone, said] = RESULTS[String(result)] ?? ['info', 'quiet', 'Unknown:']
  return logRow(html`<span class="mark ${tone}">${icon(name)}<span class="hidden">${said}</span></span>`, words)
}

const SIGNALS: Readonly<Record<string, string>> = {
  overLimit: 'asked to suspend',
  delayed: 'waits for usage',
  cleared: 'asked to bring back',
  standDown: 'stands down',
  would: 'only says whom it would suspend',
}

const stateOf = (
  tenantId: string,
  alert: AlertDetail,
  pool: Html | string,
  now: number,
): (readonly [string, Html | string])[] => {
  const { rule, ruleVersion, cycle, times, isLogged, isMailed, acknowledgedAt, lastSignal } = alert
  const by = html`by ${acknowledger(alert)}, ${ago(acknowledgedAt, now)}`
  return [
    ['Rule', html`<bdi>${rule}</bdi>, <a href="${versionPath(tenantId, ruleVersion)}">version ${ruleVersion}</a>`],
    ['Pool', pool],
    ['Cycle', cycle ?? 'goes on over cycles'],
    ['Fired', often(times)],
    ['In the log', isLogged ? 'yes' : 'no'],
    ['Mailed', isMailed ? html`<a href="/t/${tenantId}/mails?alert=${alert.id}">yes, or about to be</a>` : 'no'],
    ['Acknowledged', acknowledgedAt === null ? 'no' : by],
    ['Enforcement', lastSignal === null ? 'not asked' : (SIGNALS[lastSignal] ?? lastSignal)],
  ]
}
