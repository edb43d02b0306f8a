/** The page of a billing cycle: its plan, how far its month end is, or its statement and how that differs. */
import { html } from 'hono/html'
import { instant } from '../../../domain/local-time.ts'
import type { CycleInfo, MonthEndCounts } from '../../../domain/month-end/month-end.ts'
import type { MonthEndPlan } from '../../../domain/month-end/plan.ts'
import { counted, money } from '../../../domain/quantity.ts'
import type { WorkflowInfo } from '../../../domain/workflows/workflow.ts'
import { tryAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import { actLinks } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { icon } from '../../parts/icon.ts'
import { ahead, panel, panelOf } from '../../parts/marks.ts'
import { endedWords, partTable, poolTable } from '../my/tables.ts'
import { nameWords } from '../workflows/fields.ts'
import { runBadge, stateWords, workflowLink } from '../workflows/marks.ts'
import { progressRow } from '../workflows/show.ts'
import { KINDS, readPlan, readRun, retriesOf, START, STEPS, whyNotStarted } from './acts.ts'
import { nameOf, phaseBadge, phaseOf, readCycle } from './marks.ts'
import { adjustmentPanel, changePanels, differencePanel } from './plan.ts'

/** @param seen.said notice of an act just before @throws ServiceError `cycle_not_found`, `forbidden` */
export async function cyclePage(
  calls: Calls,
  tenantId: string,
  key: string,
  { now, said }: { readonly now: number; readonly said: Html | '' },
): Promise<Html> {
  const cycle = await readCycle(calls, key)
  const phase = phaseOf(cycle, now)
  const hasEnded = phase === 'ended' || phase === 'closed'
  const [plan, run, counts] = await Promise.all([
    readPlan(calls, key),
    hasEnded ? readRun(calls, key) : null,
    hasEnded ? tryAnswer(calls.inside.GET('/internal/cycles/{key}/progress', { params: { path: { key } } })) : null,
  ])
  const { totals, currency } = plan
  const [note, path] = [`in ${currency}`, `/t/${tenantId}`]
  return html`<div class="head">
<div>
<p class="crumbs"><a href="${path}/month">Month end</a></p>
<h1>${nameOf(cycle)}: ${money(totals.totalMicro, currency)} ${phaseBadge(cycle, now)}</h1>
<p class="lead">${outlook(cycle, plan, now)}</p>
<p class="mute">From ${instant(cycle.startsAt)} until ${instant(cycle.endsAt)}, ${counted(cycle.recordsAccepted, 'usage record')}.</p>
</div>
${
  phase === 'closed'
    ? html`<p class="acts"><a class="button" href="${path}/my/statements/${key}.csv">${icon('download')} ${counted(totals.lines, 'line')} as CSV</a></p>`
    : actLinks(`${path}/month/${key}`, whyNotStarted({ cycle, run }, now) === null ? [START] : [])
}
</div>
${said}
<div class="columns">
<div>
${phase === 'closed' ? differencePanel(tenantId, plan) : ''}
${panelOf({ title: 'Progress', id: 'progress' }, counts, (found) => progress(`${path}/month/${key}`, found, cycle, now))}
${panel({ title: 'What it is made of', id: 'parts', note }, partTable({ ...totals, currency, soFar: totals }, null))}
${panel({ title: 'By pool', id: 'pools', note }, poolTable({ currency, soFar: totals, pools: plan.pools }, null, tenantId))}
</div>
<div>
${panelOf({ title: 'Workflow', id: 'workflow' }, run, (found) => runWords(tenantId, found))}
${phase === 'closed' ? '' : changePanels(tenantId, plan)}
${adjustmentPanel(tenantId, plan)}
</div>
</div>`
}

function outlook(cycle: CycleInfo, { at }: MonthEndPlan, now: number): Html {
  const phase = phaseOf(cycle, now)
  if (phase === 'closed') return html`${endedWords(cycle.closedAt)}`
  const words = phase === 'ended' ? html`${endedWords(null)}` : html`It ends ${ahead(cycle.endsAt, now)}.`
  return html`${words} This is the plan if it were closed now, added up at ${instant(at)}.`
}

/** How many SIMs have ended in each step, and whether failed ones can be tried again. */
function progress(path: string, counts: MonthEndCounts, cycle: CycleInfo, now: number): Html {
  const steps = KINDS.map((kind) => ({ name: nameWords(kind), ...counts[STEPS[kind][0]] })).filter(
    ({ total }) => total > 0,
  )
  if (steps.length === 0) return html`<p class="empty">Nothing was queued, and no SIM comes back.</p>`
  const rows = steps.map(({ name, total, queued, open, failed }) => ({
    name,
    ended: total - queued - open,
    failed,
    total,
  }))
  return html`${rows.map((step) => progressRow(step))}
${actLinks(path, retriesOf(counts, cycle, now))}`
}

const runWords = (tenantId: string, run: WorkflowInfo | undefined): Html =>
  run === undefined
    ? html`<p class="empty">None has begun, or Temporal has forgotten it.</p>`
    : html`<p>${workflowLink(tenantId, run.workflowId)} ${runBadge(run)} ${stateWords(run)}</p>`
