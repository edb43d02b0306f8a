/** Workflows of a tenant, newest first. Temporal may be away: the page says so, and is there all the same. */
import { html } from 'hono/html'
import { type Static, Type } from 'typebox'
import { ServiceError } from '../../../domain/errors.ts'
import { count } from '../../../domain/quantity.ts'
import { STATE_WORDS, TYPE_WORDS } from '../../../domain/workflows/words.ts'
import { type WorkflowInfo, WorkflowQuery } from '../../../domain/workflows/workflow.ts'
import { tryAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import type { Html } from '../../parts/html.ts'
import { ANY, choices, isUnfiltered, linkTo, nextPage } from '../../parts/list.ts'
import { ago, notice } from '../../parts/marks.ts'
import type { PageTenant } from '../../parts/page.ts'
import { poolLink } from '../pools/marks.ts'
import { objectsOf, runBadge, STATUSES, stateWords, typeWords, workflowLink } from './marks.ts'
import { readTroubles, troublesPanel } from './troubles.ts'

const { type, status, state, simId, poolId, cycle, page } = WorkflowQuery.properties
/** `trouble`: only those that retry. */
export const WorkflowsQuery = Type.Object({
  type,
  status,
  state,
  simId,
  poolId,
  cycle,
  page,
  trouble: Type.Optional(Type.Boolean()),
})
export type WorkflowsQuery = Static<typeof WorkflowsQuery>

const MOST_ROWS = 50
const FOR_OPERATORS = 'Workflows are for operators.'

export async function workflowsPage(
  calls: Calls,
  tenant: PageTenant,
  { page: number = 1, trouble = false, ...filter }: WorkflowsQuery,
  now: number,
): Promise<Html> {
  const path = `/t/${tenant.id}/workflows`
  if (trouble) {
    const all = await readTroubles(calls, number)
    if (all === null) throw new ServiceError('forbidden', FOR_OPERATORS)
    return html`<div class="head"><div><p class="crumbs"><a href="${path}">Workflows</a></p><h1>Workflows that retry</h1></div></div>
${troublesPanel(tenant.id, path, all, now, number)}`
  }
  const query = { ...filter, page: number, pageSize: MOST_ROWS }
  const [found, few] = await Promise.all([
    tryAnswer(calls.inside.GET('/internal/workflows', { params: { query } })),
    readTroubles(calls),
  ])
  if (found === null) throw new ServiceError('forbidden', FOR_OPERATORS)
  return html`<div class="head"><div><h1>Workflows</h1>${ofObject(tenant.id, filter, path)}</div></div>
${filters(path, filter, 'data' in found ? found.data.pagination.totalItems : undefined)}
${troublesPanel(tenant.id, path, few, now)}
${
  'missing' in found
    ? notice(
        'warning',
        'warning',
        html`<strong>Temporal cannot be reached.</strong> It has the workflows. ${found.missing}`,
      )
    : html`${found.data.data.length === 0 ? empty(tenant.id, filter) : table(tenant.id, found.data.data, now)}
${nextPage(path, filter, found.data.pagination)}`
}`
}

type Filter = Omit<WorkflowsQuery, 'page' | 'trouble'>

/** Filters without a field. */
function ofObject(tenantId: string, filter: Filter, path: string): Html | '' {
  const { simId: sim, poolId: pool, cycle: key } = filter
  if (sim === undefined && pool === undefined && key === undefined) return ''
  const others = linkTo(path, { ...filter, simId: undefined, poolId: undefined, cycle: undefined })
  return html`<p class="lead">Of ${sim === undefined ? '' : html`<a href="/t/${tenantId}/sims/${sim}">SIM ${sim}</a>`}
${pool === undefined ? '' : poolLink(tenantId, pool)} ${key === undefined ? '' : html`cycle <bdi>${key}</bdi>`}
· <a href="${others}">Show all others too</a></p>`
}

const filters = (path: string, filter: Filter, total: number | undefined): Html => html`
<form class="filters" method="get" action="${path}" role="search">
${(['simId', 'poolId', 'cycle'] as const).map((name) =>
  filter[name] === undefined ? '' : html`<input type="hidden" name="${name}" value="${filter[name]}">`,
)}
${choices({ name: 'type', label: 'Type', value: filter.type }, [ANY, ...Object.entries(TYPE_WORDS)])}
${choices({ name: 'status', label: 'Status', value: filter.status }, [ANY, ...Object.entries(STATUSES).map(([one, [, , words]]) => [one, words] as const)])}
${choices({ name: 'state', label: 'State', value: filter.state }, [ANY, ...Object.entries(STATE_WORDS)])}
<button type="submit">Show</button>
${total === undefined ? '' : html`<span class="mute">${count(total)} found</span>`}
</form>`

const empty = (tenantId: string, filter: Filter): Html =>
  isUnfiltered(filter)
    ? html`<p class="empty">No workflow yet. The watchdog and the month end start them; so does
<code>simherd workflows start provision-and-activate --tenant ${tenantId} --sim 7</code>.</p>`
    : html`<p class="empty">No workflow matches. Temporal forgets ended ones after its retention.</p>`

const table = (tenantId: string, runs: readonly WorkflowInfo[], now: number): Html => html`
<div class="panel"><table>
<thead><tr><th scope="col">Workflow</th><th scope="col">State</th><th scope="col" class="wide">Started</th><th scope="col" class="wide">Ended</th></tr></thead>
<tbody>
${runs.map(
  (run) => html`<tr id="run-${run.runId}">
<th scope="row">${workflowLink(tenantId, run.workflowId, html`${typeWords(run.workflowId)}<span class="hidden"> <bdi>${run.workflowId}</bdi></span>`)}
<small>${objectsOf(run.workflowId)}</small></th>
<td>${runBadge(run)}<small><bdi>${stateWords(run)}</bdi></small></td>
<td class="wide">${ago(run.startedAt, now)}</td>
<td class="wide">${ago(run.closedAt, now, '')}</td>
</tr>`,
)}
</tbody>
</table></div>`
