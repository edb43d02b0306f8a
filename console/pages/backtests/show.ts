/** The page of a backtest: its progress, then its report, also beside the report of another. */
import { html } from 'hono/html'
import { type Static, Type } from 'typebox'
import {
  type Backtest,
  type BacktestDetail,
  type BacktestReport,
  undecidedWords,
} from '../../../domain/backtests/backtest.ts'
import { counted } from '../../../domain/quantity.ts'
import { Id } from '../../../domain/schema.ts'
import type { Calls } from '../../calls.ts'
import { actLinks, Done } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { choices } from '../../parts/list.ts'
import { actorMark, facts, instantMark, notice, panel } from '../../parts/marks.ts'
import { DELETE, readBacktest } from './acts.ts'
import { readBacktests } from './list.ts'
import { backtestWords, progressMark, rulesWords, stateBadge } from './marks.ts'
import { differencePanel, limitPanel, loudestPanel, rulePanel, totalPanel } from './report.ts'

export const ShownQuery = Type.Object({ ...Done.properties, with: Type.Optional(Id('Backtest to compare with')) })
export type ShownQuery = Static<typeof ShownQuery>

interface Seen {
  readonly query: ShownQuery
  /** Notice of an act just before. */
  readonly said: Html | ''
}

export async function backtestPage(
  calls: Calls,
  tenantId: string,
  backtest: BacktestDetail,
  { query, said }: Seen,
): Promise<Html> {
  const [path, { id, report, failure }] = [`/t/${tenantId}/backtests`, backtest]
  const [others, other] = await Promise.all([
    report === null ? [] : comparableWith(calls, backtest),
    query.with === undefined ? undefined : readBacktest(calls, tenantId, query.with),
  ])
  return html`<div class="head"><div>
<p class="crumbs"><a href="${path}">Backtests</a></p>
<h1>${backtestWords(backtest)} ${stateBadge(backtest)}</h1>
${report === null ? '' : html`<p class="lead">${instantMark(report.from)} to ${instantMark(report.until)}</p>`}
</div>${actLinks(`${path}/${id}`, [DELETE])}</div>
${said}
${failure === null ? '' : notice('critical', 'critical', html`<strong>It failed.</strong> <bdi>${failure}</bdi>`)}
${report === null || (others.length === 0 && other === undefined) ? '' : compareForm(path, others, backtest, other)}
${other === undefined ? '' : faultOf(report, other.report)}
${report === null ? factPanel(backtest) : reported(backtest, report, other?.report ?? null)}`
}

function reported(backtest: BacktestDetail, report: BacktestReport, before: BacktestReport | null): Html {
  const reports = before === null ? [report] : [before, report]
  const columns = before === null ? ['Number'] : ['Before', 'After']
  return html`<div class="columns">
<div>${rulePanel(columns, reports)}${totalPanel(columns, reports)}${differencePanel(report)}</div>
<div>${factPanel(backtest)}${loudestPanel(backtest.tenantId, report)}${limitPanel(report)}</div>
</div>`
}

/** Others with a report, over as many cycles. */
async function comparableWith(calls: Calls, { tenantId, id, cycles }: Backtest): Promise<Backtest[]> {
  const { data } = await readBacktests(calls, tenantId)
  return data.filter((other) => other.id !== id && other.cycles === cycles && other.state === 'done')
}

const nameOf = (one: Backtest): string => `${rulesWords(one)}, backtest ${one.id}`

/** @param chosen the one that is compared with */
const compareForm = (
  path: string,
  others: readonly Backtest[],
  { id }: Backtest,
  chosen: Backtest | undefined,
): Html => html`
<form class="filters" method="get" action="${path}/${id}">
${choices({ name: 'with', label: 'Compare with', value: chosen?.id }, [['', 'None'], ...others.map((other) => [other.id, nameOf(other)] as const)])}
<button type="submit">Compare</button>
${chosen === undefined ? '' : html`<span class="mute">Before: <a href="${path}/${chosen.id}">${nameOf(chosen)}</a>. After: this one.</span>`}
</form>`

/** Why reports cannot be compared, or only in part. */
function faultOf(report: BacktestReport | null, before: BacktestReport | null): Html | '' {
  if (report === null || before === null) return notice('warning', 'warning', 'One of the two has no report.')
  if (before.from === report.from) return ''
  return notice('warning', 'warning', 'They are over different billing cycles: not only the rules make the difference.')
}

function factPanel(backtest: BacktestDetail): Html {
  const { id, actorName, actor, askedAt, startedAt, endedAt, report } = backtest
  const not = report?.undecided
  return panel(
    { title: 'Backtest', id: 'backtest' },
    facts([
      ...(endedAt === null ? [['Progress', progressMark(backtest)] as const] : []),
      ['Id', String(id)],
      ['Run by', actorMark(actorName, actor)],
      ['Asked for', instantMark(askedAt)],
      ...(startedAt === null ? [] : [['Begun', instantMark(startedAt)] as const]),
      ...(endedAt === null ? [] : [['Ended', instantMark(endedAt)] as const]),
      ...(report === null ? [] : [['Replayed', counted(report.records, 'usage record')] as const]),
      ...(not === undefined ? [] : [['Not decided', undecidedWords(not)] as const]),
    ]),
  )
}
