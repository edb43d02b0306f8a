/** The past of a SIM: a table of its pools, tariffs and suspensions. */
import { html } from 'hono/html'
import { duration } from '../../../domain/quantity.ts'
import type { Sim } from '../../../domain/sims/sim.ts'
import { MOST_SPANS, type SimHistory, type Span } from '../../../domain/sims/sim-history.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import type { Html } from '../../parts/html.ts'
import { grouped, instantMark } from '../../parts/marks.ts'
import type { PageTenant } from '../../parts/page.ts'
import { poolLink } from '../pools/marks.ts'

/** @throws ServiceError `sim_not_found`, `forbidden` */
export async function historyPage(calls: Calls, tenant: PageTenant, sim: Sim, now: number): Promise<Html> {
  const path = { id: sim.id }
  const history = await mustAnswer(calls.inside.GET('/internal/sims/{id}/history', { params: { path } }))
  return html`<div class="head"><div>
<p class="crumbs"><a href="/t/${tenant.id}/sims/${sim.id}"><bdi>${sim.tag || grouped(sim.iccid)}</bdi></a></p>
<h1>History</h1>
</div></div>
${history.spans.length === 0 ? html`<p class="empty">None yet: it has not been provisioned.</p>` : table(tenant.id, history, now)}`
}

const table = (tenantId: string, { spans, isWhole }: SimHistory, now: number): Html => html`<div class="panel"><table>
<thead><tr><th scope="col">What</th><th scope="col">From</th><th scope="col">To</th><th scope="col" class="wide number">Lasted</th></tr></thead>
<tbody>
${spans.map(
  (span) => html`<tr><th scope="row">${span.kind === 'assignment' ? assignment(tenantId, span) : suspension(span)}</th>
<td>${instantMark(span.from)}</td>
<td>${span.to === null ? 'now' : instantMark(span.to)}</td>
<td class="wide number">${duration((span.to === null ? now : Date.parse(span.to)) - Date.parse(span.from))}</td></tr>`,
)}
</tbody>
</table></div>
${isWhole ? '' : html`<p class="mute">The newest ${MOST_SPANS}. Older ones are not shown.</p>`}`

const assignment = (tenantId: string, { poolId, poolName, tariffId, tariffName }: Span): Html =>
  html`${
    poolId === null ? 'Provisioned outside a pool' : html`In pool ${poolLink(tenantId, poolId, poolName ?? undefined)}`
  }${tariffId === null ? '' : html`<small>Own tariff <bdi>${tariffName ?? tariffId}</bdi></small>`}`

const suspension = ({ cause, rule, closedBecause }: Span): Html =>
  html`Suspended ${
    cause === 'user' ? 'by a person' : html`by the watchdog, rule <bdi>${rule ?? 'unknown'}</bdi>`
  }${closedBecause === null ? '' : html`<small>Ended by ${ENDS[closedBecause] ?? closedBecause}</small>`}`

const ENDS: Readonly<Record<string, string>> = {
  user: 'a person',
  watchdog: 'the watchdog',
  workflow: 'a workflow',
  'month-end': 'the month end',
  unassign: 'being unprovisioned',
}
