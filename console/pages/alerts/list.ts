/** Alerts of a tenant: filters, and pages by cursor. */
import { html } from 'hono/html'
import { type Static, Type } from 'typebox'
import { type Alert, AlertQuery } from '../../../domain/alerts/alert.ts'
import { LogLevel } from '../../../domain/codes.ts'
import { count } from '../../../domain/quantity.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import type { Html } from '../../parts/html.ts'
import { ANY, choices, choicesOf, isUnfiltered, listEnd, nextCursor } from '../../parts/list.ts'
import { ago, levelMark } from '../../parts/marks.ts'
import type { PageTenant } from '../../parts/page.ts'
import { readPoolNames } from '../../pools.ts'
import { poolLink } from '../pools/marks.ts'
import { acknowledger, phaseBadge, subjectLink, subjectWords, withheldWords } from './marks.ts'

const { rule, level, phase, acknowledged, withheld, ended, cursor } = AlertQuery.properties
export const AlertsQuery = Type.Object({ rule, level, phase, acknowledged, withheld, ended, cursor })
export type AlertsQuery = Static<typeof AlertsQuery>

const MOST_ROWS = 50

export async function alertsPage(calls: Calls, tenant: PageTenant, query: AlertsQuery, now: number): Promise<Html> {
  const listing = calls.inside.GET('/internal/alerts', { params: { query: { ...query, pageSize: MOST_ROWS } } })
  const [{ data: alerts, pagination }, pools] = await Promise.all([mustAnswer(listing), readPoolNames(calls)])
  const next = nextCursor((await listing).response)
  const path = `/t/${tenant.id}/alerts`
  const names = new Map(pools.map(({ id, name }) => [id, name]))
  // A page of the interface looks at so many alerts, whether they match or not.
  return html`<div class="head"><h1>Alerts</h1></div>
${filters(path, query, pagination.totalItems)}
${alerts.length === 0 ? '' : table(tenant, alerts, names, now)}
${listEnd(path, query, next, { noun: 'alerts', shown: alerts.length, most: MOST_ROWS, empty: empty(query) })}`
}

const PHASES = [
  ['firing', 'Firing'],
  ['pending', 'Pending'],
  ['recovering', 'Recovering'],
] as const
const YES_NO = [
  [true, 'Yes'],
  [false, 'No'],
] as const
const ENDED = [
  ['', 'Not ended'],
  [true, 'Ended'],
] as const

const filters = (path: string, query: AlertsQuery, total: number): Html => html`
<form class="filters" method="get" action="${path}" role="search">
${choices({ name: 'level', label: 'Level', value: query.level }, [ANY, ...choicesOf(LogLevel)])}
${choices({ name: 'phase', label: 'Phase', value: query.phase }, [ANY, ...PHASES])}
${choices({ name: 'acknowledged', label: 'Acknowledged', value: query.acknowledged }, [ANY, ...YES_NO])}
${choices({ name: 'withheld', label: 'Withheld', value: query.withheld }, [ANY, ...YES_NO])}
${choices({ name: 'ended', label: 'State', value: query.ended === true ? true : undefined }, ENDED)}
<label class="long">Rule <input name="rule" value="${query.rule ?? ''}"></label>
<button type="submit">Show</button>
<span class="mute">${count(total)} found</span>
</form>`

const empty = (query: AlertsQuery): Html =>
  isUnfiltered(query)
    ? html`<p class="empty">No alert: nothing is wrong. <a href="?ended=true">Those that have ended</a></p>`
    : html`<p class="empty">No alert matches.</p>`

const table = ({ id }: PageTenant, alerts: readonly Alert[], pools: ReadonlyMap<number, string>, now: number): Html =>
  html`
<div class="panel"><table class="alerts">
<thead><tr><th scope="col">Alert</th><th scope="col" class="wide">About</th><th scope="col">Phase</th><th scope="col" class="wide">Withheld</th></tr></thead>
<tbody>
${alerts.map(
  (alert) => html`<tr id="alert-${alert.id}">
<th scope="row"><div class="marked">${levelMark(alert.level)}<span><a href="/t/${id}/alerts/${alert.id}">${heading(alert)}</a><small><bdi>${alert.rule}</bdi></small></span></div></th>
<td class="wide">${subjectLink(id, alert.subject)}${poolOf(id, alert, pools)}</td>
<td>${phaseBadge(alert)}<small>${ago(alert.since, now)}</small>${seen(alert, now)}</td>
<td class="wide">${alert.withheld.length === 0 ? html`<span class="mute">nothing</span>` : html`<span class="reasons">${withheldWords(alert)}</span>`}</td>
</tr>`,
)}
</tbody>
</table></div>`

/** Its message, or what it is about before it has one. */
const heading = ({ message, rule, subject }: Alert): Html =>
  message === null ? html`<bdi>${rule}</bdi>: ${subjectWords(subject)}` : html`<bdi>${message}</bdi>`

const seen = (alert: Alert, now: number): Html | '' =>
  alert.acknowledgedAt === null
    ? ''
    : html`<small>acknowledged by ${acknowledger(alert)}, ${ago(alert.acknowledgedAt, now)}</small>`

const poolOf = (tenantId: string, { subject, poolId }: Alert, pools: ReadonlyMap<number, string>): Html | '' =>
  subject.kind === 'pool' || poolId === null
    ? ''
    : html`<small>${poolLink(tenantId, poolId, pools.get(poolId))}</small>`
