/** The shadow log: what rules in stage shadow would have done. Newest first, with filters, and parts by cursor. */
import type { FastifyInstance } from 'fastify'
import { html } from 'hono/html'
import { type Static, Type } from 'typebox'
import { type ShadowAct, type ShadowEntry, ShadowQuery } from '../../domain/alerts/shadow-entry.ts'
import { counted } from '../../domain/quantity.ts'
import { mustAnswer } from '../answers.ts'
import type { Calls, Doors } from '../calls.ts'
import type { Html } from '../parts/html.ts'
import { ANY, choices, isUnfiltered, nextCursor, pager } from '../parts/list.ts'
import { ago, levelMark } from '../parts/marks.ts'
import { sendPage } from '../parts/page.ts'
import { readPoolNames } from '../pools.ts'
import { callsFor, type TenantParams } from '../tenant.ts'
import { poolLink } from './pools/marks.ts'

const { rule, version, does, date, cursor } = ShadowQuery.properties
const Query = Type.Object({ rule, version, does, date, cursor })
type Query = Static<typeof Query>

const MOST_ROWS = 50

/** @param clock epoch milliseconds */
export function shadowLogRoutes(app: FastifyInstance, doors: Doors, clock: () => number): void {
  app.get<{ Params: TenantParams; Querystring: Query }>(
    '/t/:tenant/shadow-log',
    { schema: { querystring: Query } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const main = await shadowLogPage(calls, tenant.id, request.query, clock())
      return sendPage(reply, { title: 'Shadow log', main, tenant, current: 'shadow-log' })
    },
  )
}

async function shadowLogPage(calls: Calls, tenantId: string, query: Query, now: number): Promise<Html> {
  const listing = calls.inside.GET('/internal/rules/shadow-log', {
    params: { query: { ...query, pageSize: MOST_ROWS } },
  })
  const [{ data, pagination }, pools] = await Promise.all([mustAnswer(listing), readPoolNames(calls)])
  const names = new Map(pools.map(({ id, name }) => [id, name]))
  const path = `/t/${tenantId}/shadow-log`
  return html`<div class="head"><div><h1>Shadow log</h1>
<p class="lead">What rules in stage shadow would have done. Only operators see it.</p></div></div>
${filters(path, query, pagination.totalItems)}
${data.length > 0 ? table(tenantId, data, names, now) : empty(query)}
${pager(path, query, nextCursor((await listing).response))}`
}

const ACTS: Readonly<Record<ShadowAct, string>> = { log: 'Write to the log', mail: 'Mail', suspend: 'Suspend' }

const filters = (path: string, { rule, version, does, date }: Query, total: number): Html => html`
<form class="filters" method="get" action="${path}" role="search">
${choices({ name: 'does', label: 'Would', value: does }, [ANY, ...Object.entries(ACTS)])}
<label>Version <input type="number" name="version" min="1" value="${version ?? ''}"></label>
<label>Day in UTC <input type="date" name="date" value="${date ?? ''}"></label>
<label class="long">Rule <input name="rule" value="${rule ?? ''}"></label>
<button type="submit">Show</button>
<span class="mute">${counted(total, 'entry', 'entries')}</span>
</form>`

const empty = (query: Query): Html =>
  isUnfiltered(query)
    ? html`<p class="empty">No entry: no rule with <code>"stage": "shadow"</code> has fired within 90 days.</p>`
    : html`<p class="empty">No entry matches.</p>`

const table = (
  tenantId: string,
  entries: readonly ShadowEntry[],
  names: ReadonlyMap<number, string>,
  now: number,
) => html`
<div class="panel"><table class="alerts">
<thead><tr><th scope="col">Entry</th><th scope="col" class="wide">About</th><th scope="col">Would</th></tr></thead>
<tbody>
${entries.map(
  (entry) => html`<tr id="entry-${entry.id}">
<th scope="row"><div class="marked">${levelMark(entry.level)}<span><bdi>${entry.message}</bdi><small><bdi>${entry.rule}</bdi>, version ${entry.version}</small></span></div></th>
<td class="wide">${about(tenantId, entry, names)}</td>
<td>${ACTS[entry.does]}<small>${ago(entry.date, now)}</small></td>
</tr>`,
)}
</tbody>
</table></div>`

function about(tenantId: string, { simId, poolId }: ShadowEntry, names: ReadonlyMap<number, string>): Html | string {
  const pool = poolId === null ? '' : poolLink(tenantId, poolId, names.get(poolId))
  if (simId === null) return pool || 'The tenant'
  return html`<a href="/t/${tenantId}/sims/${simId}">SIM ${simId}</a>${pool && html` of ${pool}`}`
}
