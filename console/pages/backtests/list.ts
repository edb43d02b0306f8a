/** Backtests of a tenant, newest first. */
import { html } from 'hono/html'
import { type Static, Type } from 'typebox'
import { type Backtest, BacktestQuery } from '../../../domain/backtests/backtest.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import { actLinks, Done } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { nextPage } from '../../parts/list.ts'
import { actorMark, ago } from '../../parts/marks.ts'
import { RUN } from './acts.ts'
import { backtestWords, progressMark, stateBadge } from './marks.ts'

export const BacktestsQuery = Type.Object({ ...Done.properties, page: BacktestQuery.properties.page })
export type BacktestsQuery = Static<typeof BacktestsQuery>

const MOST_ROWS = 50

/** A page of them. @throws ServiceError `forbidden` */
export const readBacktests = ({ inside }: Calls, tenantId: string, page = 1) => {
  const query = { tenantId, page, pageSize: MOST_ROWS }
  return mustAnswer(inside.GET('/internal/rules/backtests', { params: { query } }))
}

interface Seen {
  readonly page?: number | undefined
  readonly now: number
  /** Notice of an act just before. */
  readonly said: Html | ''
}

export async function backtestsPage(calls: Calls, tenantId: string, { page, now, said }: Seen): Promise<Html> {
  const { data, pagination } = await readBacktests(calls, tenantId, page)
  const path = `/t/${tenantId}/backtests`
  return html`<div class="head"><div><h1>Backtests</h1>
<p class="lead">What rules would have done in billing cycles that have ended.</p></div>${actLinks(path, [RUN])}</div>
${said}
${data.length === 0 ? html`<p class="empty">None. They are kept for 30 days; <code>simherd rules backtest</code> runs one of files, too.</p>` : table(path, data, now)}
${nextPage(path, {}, pagination)}`
}

const table = (
  path: string,
  backtests: readonly Backtest[],
  now: number,
): Html => html`<div class="panel"><table class="alerts">
<thead><tr><th scope="col">Backtest</th><th scope="col" class="wide">Run by</th><th scope="col">State</th></tr></thead>
<tbody>
${backtests.map(
  (one) => html`<tr id="backtest-${one.id}">
<th scope="row"><a href="${path}/${one.id}">${backtestWords(one)}</a><small>Backtest ${one.id}</small></th>
<td class="wide">${actorMark(one.actorName, one.actor)}<small>${ago(one.askedAt, now)}</small></td>
<td>${stateBadge(one)}${progressMark(one)}</td>
</tr>`,
)}
</tbody>
</table></div>`
