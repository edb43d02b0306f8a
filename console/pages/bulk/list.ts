/** Bulk runs of a tenant, newest first. */
import { html } from 'hono/html'
import { type Static, Type } from 'typebox'
import { PageQuery } from '../../../domain/page.ts'
import { counted } from '../../../domain/quantity.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import type { Html } from '../../parts/html.ts'
import { nextPage } from '../../parts/list.ts'
import { ago } from '../../parts/marks.ts'
import { runWords, stateBadge } from './marks.ts'

const { page } = PageQuery.properties
export const RunsQuery = Type.Object({ page })
export type RunsQuery = Static<typeof RunsQuery>

const MOST_ROWS = 50

export async function runsPage(
  { inside }: Calls,
  tenantId: string,
  { page = 1 }: RunsQuery,
  now: number,
): Promise<Html> {
  const query = { page, pageSize: MOST_ROWS }
  const { data, pagination } = await mustAnswer(inside.GET('/internal/bulk-tickets', { params: { query } }))
  const path = `/t/${tenantId}/bulk`
  return html`<div class="head"><div><p class="crumbs"><a href="/t/${tenantId}/tickets">Tickets</a></p>
<h1>Bulk runs</h1></div> <span class="mute">${counted(pagination.totalItems, 'run')}</span></div>
${
  data.length === 0
    ? html`<p class="empty">No run yet. The list of SIMs starts one, and so does <code>simherd tickets bulk</code>.</p>`
    : html`<div class="panel"><table>
<thead><tr><th scope="col">Run</th><th scope="col" class="number">Refused</th><th scope="col" class="wide number">Asked for</th><th scope="col">State</th></tr></thead>
<tbody>
${data.map(
  (run) => html`<tr id="run-${run.id}">
<th scope="row"><a href="${path}/${run.id}">${runWords(run.type, run.total)}</a></th>
<td class="number">${run.refused === 0 ? html`<span class="mute">none</span>` : counted(run.refused, 'SIM')}</td>
<td class="wide number">${ago(run.createdAt, now)}</td>
<td>${stateBadge(run)}</td>
</tr>`,
)}
</tbody>
</table></div>`
}
${nextPage(path, {}, pagination)}`
}
