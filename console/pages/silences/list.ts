/** Silences of a tenant, open or ended. */
import { html } from 'hono/html'
import { type Static, Type } from 'typebox'
import { type Silence, SilenceQuery } from '../../../domain/alerts/silence.ts'
import { counted } from '../../../domain/quantity.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import type { Html } from '../../parts/html.ts'
import { choices, nextPage } from '../../parts/list.ts'
import type { PageTenant } from '../../parts/page.ts'
import { author, coverWords, endWords } from './marks.ts'

const { open, page } = SilenceQuery.properties
export const SilencesQuery = Type.Object({ open, page })
export type SilencesQuery = Static<typeof SilencesQuery>

const MOST_ROWS = 50
const STATES = [
  [true, 'Open'],
  [false, 'Ended'],
] as const

export async function silencesPage(calls: Calls, tenant: PageTenant, query: SilencesQuery): Promise<Html> {
  const { open: isOpen = true, page: number = 1 } = query
  const asked = { open: isOpen, page: number, pageSize: MOST_ROWS }
  const { data, pagination } = await mustAnswer(calls.inside.GET('/internal/silences', { params: { query: asked } }))
  const path = `/t/${tenant.id}/silences`
  return html`<div class="head"><h1>Silences</h1></div>
<form class="filters" method="get" action="${path}" role="search">
${choices({ name: 'open', label: 'State', value: isOpen }, STATES)}
<button type="submit">Show</button>
<span class="mute">${counted(pagination.totalItems, 'silence')}</span>
</form>
${data.length === 0 ? html`<p class="empty">None. The page of an alert makes one: <em>Silence</em>.</p>` : table(path, data)}
${nextPage(path, { open: isOpen }, pagination)}`
}

const table = (path: string, silences: readonly Silence[]): Html => html`<div class="panel"><table class="alerts">
<thead><tr><th scope="col">Silence</th><th scope="col" class="wide">Reason</th><th scope="col">End</th></tr></thead>
<tbody>
${silences.map(
  (silence) => html`<tr id="silence-${silence.id}">
<th scope="row"><a href="${path}/${silence.id}">${coverWords(silence)}</a><small>by ${author(silence)}</small></th>
<td class="wide"><bdi>${silence.reason}</bdi></td>
<td>${endWords(silence)}</td>
</tr>`,
)}
</tbody>
</table></div>`
