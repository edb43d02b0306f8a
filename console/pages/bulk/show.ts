/** The page of a bulk run: its progress, refusals and SIMs, and how it is taken back. */
import { html } from 'hono/html'
import { type Static, Type } from 'typebox'
import { count, counted } from '../../../domain/quantity.ts'
import { capital } from '../../../domain/text.ts'
import { type BulkItem, BulkItemQuery, type BulkRunDetail, type BulkType } from '../../../domain/tickets/bulk.ts'
import { tryAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import { Done } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { type IconName, icon } from '../../parts/icon.ts'
import { ANY, choices, nextPage } from '../../parts/list.ts'
import { ago, facts, meter, panel, panelOf } from '../../parts/marks.ts'
import { poolLink } from '../pools/marks.ts'
import { cancel, restOf } from './acts.ts'
import { OUTCOMES, outcomeBadge, refusalWords, runWords, stateBadge, TYPES } from './marks.ts'

const { outcome, page } = BulkItemQuery.properties
export const RunQuery = Type.Object({ ...Done.properties, outcome, page })
export type RunQuery = Static<typeof RunQuery>

const MOST_ROWS = 50

interface Seen {
  readonly query: RunQuery
  readonly now: number
  /** Notice of an act just before. */
  readonly said: Html | ''
}

export async function bulkPage(calls: Calls, tenantId: string, run: BulkRunDetail, seen: Seen): Promise<Html> {
  const { outcome, page = 1 } = seen.query
  const params = { path: { id: run.id }, query: { page, pageSize: MOST_ROWS, ...(outcome && { outcome }) } }
  const items = await tryAnswer(calls.inside.GET('/internal/bulk-tickets/{id}/items', { params }))
  const [runs, { total, counts }] = [`/t/${tenantId}/bulk`, run]
  const path = `${runs}/${run.id}`
  const ended = total - counts.waiting - counts.pending - counts.processing
  const words = `${count(ended)} of ${counted(total, 'SIM')} done`
  return html`<div class="head">
<div>
<p class="crumbs"><a href="/t/${tenantId}/tickets">Tickets</a> / <a href="${runs}">Bulk runs</a></p>
<h1>${runWords(run.type, total)} ${stateBadge(run)}</h1>
<p class="lead">${words}</p>
</div>
<p class="acts">${actsOn(runs, run)}</p>
</div>
${seen.said}
<div class="columns">
<div>
${panel({ title: 'Progress', id: 'progress' }, html`<div class="inset">${meter(ended, total, words)}</div>${facts(countsOf(path, run))}`)}
${panelOf(
  { title: 'SIMs', id: 'sims' },
  items,
  ({ data, pagination }) => html`<form class="filters inset" method="get" action="${path}" role="search">
${choices({ name: 'outcome', label: 'State', value: outcome }, [ANY, ...OUTCOMES.map(([name]) => [name, capital(name)] as const)])}
<button type="submit">Show</button>
</form>
${data.length === 0 ? html`<p class="empty">None.</p>` : table(`/t/${tenantId}`, data)}
${nextPage(path, { outcome }, pagination)}`,
)}
</div>
<div>
${panel({ title: 'Run', id: 'run' }, facts(factsOf(tenantId, run, seen.now)))}
${run.refusals.length === 0 ? '' : panel({ title: 'Refused', id: 'refused' }, refusalWords(run.refusals))}
</div>
</div>`
}

/** Cancels the rest, takes the run back by another over its SIMs, or tries them again. */
function actsOn(runs: string, run: BulkRunDetail): Html {
  const { id, type, counts } = run
  const { opposite } = TYPES[type]
  const link = (href: string, name: IconName, words: string) =>
    html`<a class="button" href="${runs}/${href}">${icon(name)} ${words}…</a> `
  const again = (of: BulkType, outcome: string, words: string) =>
    link(`new?type=${of}&run=${id}&outcome=${outcome}`, TYPES[of].icon, words)
  return html`${restOf(run) === 0 ? '' : link(`${id}/${cancel.name}`, cancel.icon, cancel.label)}
${opposite === undefined || counts.complete === 0 ? '' : again(opposite, 'complete', `${TYPES[opposite].label} what it did`)}
${counts.failed === 0 ? '' : again(type, 'failed', 'Try the failed again')}`
}

const countsOf = (path: string, { counts }: BulkRunDetail) =>
  OUTCOMES.filter(([name]) => counts[name] > 0).map(
    ([name]) => [capital(name), html`<a href="${path}?outcome=${name}">${counted(counts[name], 'SIM')}</a>`] as const,
  )

/** @param path of the tenant */
const table = (path: string, items: readonly BulkItem[]): Html => html`<table>
<thead><tr><th scope="col">SIM</th><th scope="col">State</th><th scope="col" class="wide">Reason</th></tr></thead>
<tbody>
${items.map(
  ({ index, simId, iccid, outcome, ticketId, detail }) => html`<tr id="item-${index}">
<th scope="row">${simId === null ? html`<bdi>${iccid}</bdi>` : html`<a href="${path}/sims/${simId}">${iccid}</a>`}</th>
<td>${outcomeBadge(outcome)}${ticketId === null ? '' : html`<small><a href="${path}/tickets/${ticketId}">Ticket<span class="hidden"> of ${iccid}</span></a></small>`}</td>
<td class="wide"><bdi>${detail}</bdi></td>
</tr>`,
)}
</tbody>
</table>`

const factsOf = (tenantId: string, run: BulkRunDetail, now: number): (readonly [string, Html | string])[] => [
  ['Asked for', ago(run.createdAt, now)],
  ...(run.message === null ? [] : [['Message', html`<bdi>${run.message}</bdi>`] as const]),
  ...(run.poolId === null ? [] : [['Into', poolLink(tenantId, run.poolId)] as const]),
  ...(run.tag === null ? [] : [['Tag', html`<bdi>${run.tag}</bdi>`] as const]),
  ['Id', html`<code>${run.id}</code>`],
]
