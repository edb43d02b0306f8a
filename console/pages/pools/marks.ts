/** Links to pools and tables of them, for every page that names pools. */
import { html } from 'hono/html'
import { labelOf, PoolStatus, PoolType, WatchdogMode } from '../../../domain/codes.ts'
import type { Pool } from '../../../domain/pools/pool.ts'
import { count, counted, ofLimit, percent } from '../../../domain/quantity.ts'
import type { Html } from '../../parts/html.ts'
import { meter } from '../../parts/marks.ts'

/** Leads to the page of a pool. @param name left out: not known */
export const poolLink = (tenantId: string, id: number, name = `Pool ${id}`): Html =>
  html`<a href="/t/${tenantId}/pools/${id}"><bdi>${name}</bdi></a>`

export const modeBadge = (mode: WatchdogMode): Html =>
  html`<span class="badge ${mode === WatchdogMode.Enforce ? 'good' : 'quiet'}">${labelOf(WatchdogMode, mode)}</span>`

/** Source: docs/rules.md, "Stages and modes". */
export const MODE_WORDS: Readonly<Record<WatchdogMode, string>> = {
  [WatchdogMode.Disabled]: 'Disabled: it decides nothing',
  [WatchdogMode.Monitor]: 'Monitor: it logs, mails, and names whom it would suspend',
  [WatchdogMode.Enforce]: 'Enforce: it logs, mails and suspends',
}

/** `Dynamic pool, 40 of 42 SIMs active`. */
export const poolWords = ({ type, status, activeSimCount, totalSimCount }: Pool): string =>
  `${labelOf(PoolType, type)} pool${status === PoolStatus.Active ? '' : `, ${labelOf(PoolStatus, status).toLowerCase()}`}, ${count(activeSimCount)} of ${counted(totalSimCount, 'SIM')} active`

/** SIMs of a Standard tariff share nothing: some can be over in a pool that is not. */
export const overWords = ({ usageMB, limitMB }: Pool): string => (usageMB > limitMB ? 'over' : 'some SIMs over')

export const NO_POOL = html`<p class="empty">No pool yet: SIMs of one tariff share one. <code>POST /api/pools</code> makes one.</p>`

export const poolTable = (tenantId: string, pools: readonly Pool[]): Html => html`<table>
<thead><tr><th scope="col">Pool</th><th scope="col" class="wide">Mode</th><th scope="col" class="wide bars">Usage</th><th scope="col" class="number">Used</th></tr></thead>
<tbody>
${pools.map(
  (pool) => html`<tr id="pool-${pool.id}">
<th scope="row">${poolLink(tenantId, pool.id, pool.name)}<small>${poolWords(pool)}</small></th>
<td class="wide">${modeBadge(pool.watchdogMode)}</td>
<td class="wide">${meter(pool.usageMB, pool.limitMB)}</td>
<td class="number${pool.isOverage ? ' critical' : ''}">${pool.limitMB > 0 ? percent((pool.usageMB / pool.limitMB) * 100) : ''}<small>${ofLimit(pool.usageMB, pool.limitMB)}</small>${pool.isOverage ? html`<small>${overWords(pool)}</small>` : ''}</td>
</tr>`,
)}
</tbody>
</table>`
