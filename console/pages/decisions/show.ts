/** The page of a decision: cause, held SIMs or alerts, and the two choices. */
import { html } from 'hono/html'
import type { Alert } from '../../../domain/alerts/alert.ts'
import type { Hold } from '../../../domain/enforcement/guard.ts'
import { instant } from '../../../domain/local-time.ts'
import type { Page } from '../../../domain/page.ts'
import { count, counted, megabytes } from '../../../domain/quantity.ts'
import type { SimSummary } from '../../../domain/sims/sim.ts'
import { tryAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import { choiceForm } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { icon } from '../../parts/icon.ts'
import { actorMark, ago, levelMark, logRow, meter, panelOf, statusBadge } from '../../parts/marks.ts'
import type { PageTenant } from '../../parts/page.ts'
import { readPoolNames } from '../../pools.ts'
import { poolLink } from '../pools/marks.ts'
import { nameCell, usedCell } from '../sims/marks.ts'
import { DECISION_ACTS, heldWords, released } from './acts.ts'

interface Shown {
  /** Of the list, from 1. */
  readonly page: number
  readonly now: number
  /** Notice of an act just before. */
  readonly said: Html | ''
}

export async function decisionPage(calls: Calls, { id }: PageTenant, hold: Hold, shown: Shown): Promise<Html> {
  const { page, now, said } = shown
  const [list, pools] = await Promise.all([heldList(calls, `/t/${id}`, hold, shown), readPoolNames(calls)])
  const name = pools.find((one) => one.id === hold.poolId)?.name
  const where = hold.poolId === null ? '' : html` of pool ${poolLink(id, hold.poolId, name)}`
  const back = `/t/${id}/decisions/${hold.id}`
  const isOpen = hold.state === 'held' && hold.waiting > 0
  return html`<div class="head verdict">
<span class="mark ${isOpen ? 'critical' : 'quiet'}">${icon('hold')}</span>
<div>
<p class="crumbs"><a href="/t/${id}">Overview</a> / Decision ${hold.id}</p>
<h1>${heading(hold)}</h1>
<p class="lead">${cause(hold, where, now)} ${state(hold, now)}</p>
</div>
</div>
${said}
<div class="columns">
${isOpen ? html`<div class="choices">${DECISION_ACTS.map((act) => choiceForm(act, back, act.confirm(hold, now)))}</div>` : ''}
<div>
${list}
${hold.waiting > MOST_ROWS * page ? html`<p class="pages"><a href="${back}?page=${page + 1}">Next page</a></p>` : ''}
</div>
</div>`
}

const MOST_ROWS = 100

function heading(hold: Hold): string {
  const some = heldWords(hold)
  const act = hold.what === 'suspensions' ? 'suspend' : 'mail about'
  switch (hold.state) {
    case 'held':
      return hold.waiting === 0 ? 'Nothing waits here any more' : released(hold).question
    case 'released':
      return `The rule may ${act} ${some}`
    case 'discarded':
      return `The rule leaves ${some} alone`
    case 'lapsed':
      return 'It has lapsed without a decision'
  }
}

function cause({ what, rule, suspended, allowed, openedAt }: Hold, where: Html | '', now: number): Html {
  const acted =
    what === 'suspensions'
      ? `had suspended ${counted(suspended, 'SIM')}`
      : `had begun to mail about ${counted(suspended, 'alert')}`
  return html`Rule <bdi>${rule}</bdi> ${acted}${where} within an hour. ${count(allowed)} ${allowed === 1 ? 'goes' : 'go'} unasked, so the rest was held, ${ago(openedAt, now)}.`
}

function state({ state: name, decidedAt, decidedByName, decidedBy, lapsesAt, waiting }: Hold, now: number): Html {
  if (name === 'lapsed') return html`Its billing cycle ended at ${instant(lapsesAt)}.`
  if (name !== 'held')
    return html`<strong>Decided</strong> by ${actorMark(decidedByName, decidedBy)}, ${ago(decidedAt, now)}.`
  const cleared = waiting === 0 ? 'All their alerts have ended. ' : ''
  return html`${cleared}Without a decision it lapses at ${instant(lapsesAt)}.`
}

/** Its SIMs; or its alerts while they wait: after a decision they are as any others. */
async function heldList(
  { inside }: Calls,
  path: string,
  { id, what, state: name }: Hold,
  { page, now }: Shown,
): Promise<Html | ''> {
  const query = { page, pageSize: MOST_ROWS }
  if (what === 'suspensions') {
    const sims = await tryAnswer(
      inside.GET('/internal/enforcement/holds/{id}/sims', { params: { path: { id }, query } }),
    )
    return panelOf({ title: 'SIMs', id: 'sims', note: 'the first held first' }, sims, (found) => simTable(path, found))
  }
  if (name !== 'held') return ''
  const alerts = await tryAnswer(
    inside.GET('/internal/alerts', { params: { query: { ...query, holdId: id, phase: 'firing' } } }),
  )
  return panelOf({ title: 'Alerts that wait', id: 'alerts', note: 'newest first' }, alerts, ({ data }) =>
    alertList(path, data, now),
  )
}

const simTable = (path: string, { data }: Page<SimSummary>): Html =>
  data.length === 0
    ? html`<p class="empty">No SIM.</p>`
    : html`<table>
<thead><tr><th scope="col">SIM</th><th scope="col">Status</th><th scope="col" class="wide bars">Usage</th><th scope="col" class="number">Used</th><th scope="col" class="wider number">Overage</th></tr></thead>
<tbody>
${data.map(
  (sim) => html`<tr id="sim-${sim.id}">
${nameCell(`${path}/sims`, sim)}
<td>${statusBadge(sim.status)}</td>
<td class="wide">${meter(sim.usageMB, sim.limitMB)}</td>
${usedCell(sim)}
<td class="wider number">${sim.isOverage ? megabytes(sim.overageMB) : html`<span class="mute">none</span>`}</td>
</tr>`,
)}
</tbody>
</table>`

const alertList = (path: string, alerts: readonly Alert[], now: number): Html =>
  alerts.length === 0
    ? html`<p class="empty">No alert.</p>`
    : html`<ul class="log">
${alerts.map(({ id, level, message, rule, since }) =>
  logRow(levelMark(level), html`<a href="${path}/alerts/${id}"><bdi>${message ?? rule}</bdi></a>`, ago(since, now)),
)}
</ul>`
