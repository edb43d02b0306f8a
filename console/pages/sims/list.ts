/** SIMs of a tenant: filters, and pages by cursor. */
import { html } from 'hono/html'
import { type Static, Type } from 'typebox'
import { SimStatus } from '../../../domain/codes.ts'
import { count } from '../../../domain/quantity.ts'
import { type Sim, SimQuery } from '../../../domain/sims/sim.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import type { Html } from '../../parts/html.ts'
import { ANY, choices, choicesOf, isUnfiltered, nextCursor, pager } from '../../parts/list.ts'
import { ago, meter, statusBadge } from '../../parts/marks.ts'
import type { PageTenant } from '../../parts/page.ts'
import { type PoolName, readPoolNames } from '../../pools.ts'
import { bulkForm, tickOf } from '../bulk/marks.ts'
import { poolLink } from '../pools/marks.ts'
import { actsOn } from './acts.ts'
import { nameCell, usedCell } from './marks.ts'

const { search, status, poolId, cursor } = SimQuery.properties
export const SimsQuery = Type.Object({ search, status, poolId, cursor })
export type SimsQuery = Static<typeof SimsQuery>

const MOST_ROWS = 50

interface Seen {
  readonly now: number
  /** Others may not act on many at once. */
  readonly isOperator: boolean
}

export async function simsPage(calls: Calls, tenant: PageTenant, query: SimsQuery, seen: Seen): Promise<Html> {
  const listing = calls.outside.GET('/api/sims', { params: { query: { ...query, pageSize: MOST_ROWS } } })
  const [{ data: sims, pagination }, pools] = await Promise.all([mustAnswer(listing), readPoolNames(calls)])
  const next = nextCursor((await listing).response)
  const path = `/t/${tenant.id}/sims`
  const rows = table(tenant.id, sims, new Map(pools.map(({ id, name }) => [id, name])), seen)
  return html`<div class="head"><h1>SIMs</h1></div>
${filters(path, query, pools, pagination.totalItems)}
${sims.length === 0 ? empty(query) : seen.isOperator ? bulkForm(`/t/${tenant.id}/bulk/new`, query, pagination.totalItems, rows) : rows}
${pager(path, query, next)}`
}

const filters = (path: string, query: SimsQuery, pools: readonly PoolName[], total: number): Html => html`
<form class="filters" method="get" action="${path}" role="search">
${choices({ name: 'status', label: 'Status', value: query.status }, [ANY, ...choicesOf(SimStatus)])}
${choices({ name: 'poolId', label: 'Pool', value: query.poolId }, [ANY, ...pools.map(({ id, name }) => [id, name] as const)])}
<label class="long">ICCID, IMSI, MSISDN or tag <input name="search" value="${query.search ?? ''}"></label>
<button type="submit">Show</button>
<span class="mute">${count(total)} ${total === 1 ? 'matches' : 'match'}</span>
</form>`

const empty = (query: SimsQuery): Html =>
  isUnfiltered(query)
    ? html`<p class="empty">No SIM yet. <code>simherd sims import</code> brings them in.</p>`
    : html`<p class="empty">No SIM matches.</p>`

const table = (
  tenantId: string,
  sims: readonly Sim[],
  pools: ReadonlyMap<number, string>,
  { now, isOperator }: Seen,
): Html => html`
<div class="panel"><table>
<thead><tr><th scope="col">SIM</th><th scope="col">Status</th><th scope="col" class="wide bars">Usage</th><th scope="col" class="number">Used</th><th scope="col" class="wider">Pool</th><th scope="col" class="wider number">Seen</th></tr></thead>
<tbody>
${sims.map((sim) => {
  const { id, tag, iccid, usageMB, limitMB, poolId } = sim
  const path = `/t/${tenantId}/sims`
  return html`<tr id="sim-${id}">
${nameCell(path, sim, isOperator ? tickOf(sim) : '')}
<td>${statusBadge(sim.status)}${actsOn(sim).map(({ name, label }) => html`<small><a href="${path}/${id}/${name}">${label}… <span class="hidden">${tag || iccid}</span></a></small>`)}</td>
<td class="wide">${meter(usageMB, limitMB)}</td>
${usedCell(sim)}
<td class="wider">${poolId === null ? html`<span class="mute">none</span>` : poolLink(tenantId, poolId, pools.get(poolId))}</td>
<td class="wider number">${ago(sim.lastSeenAt, now)}</td>
</tr>`
})}
</tbody>
</table></div>`
