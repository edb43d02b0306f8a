/** Pools of a tenant, by id and in pages by cursor. */
import { html } from 'hono/html'
import { type Static, Type } from 'typebox'
import { PoolQuery } from '../../../domain/pools/pool.ts'
import { counted } from '../../../domain/quantity.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import type { Html } from '../../parts/html.ts'
import { nextCursor, pager } from '../../parts/list.ts'
import type { PageTenant } from '../../parts/page.ts'
import { NO_POOL, poolTable } from './marks.ts'

const { cursor } = PoolQuery.properties
export const PoolsQuery = Type.Object({ cursor })
export type PoolsQuery = Static<typeof PoolsQuery>

const MOST_ROWS = 50

export async function poolsPage({ outside }: Calls, tenant: PageTenant, query: PoolsQuery): Promise<Html> {
  const listing = outside.GET('/api/pools', { params: { query: { ...query, pageSize: MOST_ROWS } } })
  const { data: pools, pagination } = await mustAnswer(listing)
  const next = nextCursor((await listing).response)
  return html`<div class="head"><h1>Pools</h1> <span class="mute">${counted(pagination.totalItems, 'pool')}</span></div>
${pools.length === 0 ? NO_POOL : html`<div class="panel">${poolTable(tenant.id, pools)}</div>`}
${pager(`/t/${tenant.id}/pools`, query, next)}`
}
