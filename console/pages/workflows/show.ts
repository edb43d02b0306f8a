/** The page of a workflow: state and wait, retries, progress, steps, input and result. */
import { html } from 'hono/html'
import { linkIn } from '../../../adapters/rest/client.ts'
import { count, duration, plainNumber } from '../../../domain/quantity.ts'
import { parseWorkflowId } from '../../../domain/temporal/ids.ts'
import { failuresOf, isRetrying, type Progress, progressOf, viewOf } from '../../../domain/workflows/run-view.ts'
import type { WorkflowInfo } from '../../../domain/workflows/workflow.ts'
import { dataOf, mustAnswer, tryAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import { actLinks } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { linkTo } from '../../parts/list.ts'
import { ago, ahead, facts, line, meter, panel, panelOf } from '../../parts/marks.ts'
import type { PageTenant } from '../../parts/page.ts'
import { cycleLink } from '../month/marks.ts'
import { readSimNamed } from '../sims/sim-act.ts'
import { actsOn } from './acts.ts'
import { faultWords, fieldsOf, linked, nameWords } from './fields.ts'
import { objectsOf, runBadge, STATUSES, stateWords, typeWords } from './marks.ts'
import { pendingList, troubles } from './pending.ts'

/** @throws ServiceError `workflow_not_found`, `forbidden`, `unavailable` */
export async function workflowPage(
  calls: Calls,
  { id: tenantId }: PageTenant,
  workflowId: string,
  { now, said }: { readonly now: number; readonly said: Html | '' },
): Promise<Html> {
  const params = { path: { workflowId } }
  const reading = calls.inside.GET('/internal/workflows/{workflowId}', { params })
  const [run, pending, name] = await Promise.all([
    mustAnswer(reading),
    tryAnswer(calls.inside.GET('/internal/workflows/{workflowId}/pending', { params })),
    nameOf(calls, workflowId).catch(() => undefined),
  ])
  const history = linkIn((await reading).response, 'history')
  const isRunning = run.status === 'running'
  const known = dataOf(pending)
  const [progress, failures, input] = [progressList(run.state, now), failuresOf(run), fieldsOf(tenantId, run.input)]
  const parts = parseWorkflowId(workflowId)
  const path = `/t/${tenantId}/workflows`
  return html`<div class="head">
<div>
<p class="crumbs"><a href="${path}">Workflows</a> / <a href="${path}?type=${run.type}">of this type</a>${parts !== undefined && 'cycleKey' in parts ? html` / <a href="${linkTo(path, { cycle: parts.cycleKey })}">of this cycle</a>` : ''}${parts?.type === 'month-end-reprovision' ? html` / ${cycleLink(tenantId, parts.cycleKey, 'its cycle')}` : ''}</p>
<h1>${typeWords(workflowId)} ${runBadge(run, known !== undefined && isRetrying(known))}</h1>
<p class="lead">${objectsOf(workflowId, name)}. ${isRunning ? waitWords(tenantId, run, now) : endWords(run, now)}</p>
</div>
${actLinks(`${path}/${encodeURIComponent(workflowId)}`, actsOn(run))}
</div>
${said}
${isRunning && known !== undefined ? troubles(known, now) : ''}
<div class="columns">
<div>
${run.failure === null ? '' : panel({ title: 'Failure', id: 'failure' }, html`<p>${faultWords(run.failure)}</p>`)}
${progress.length === 0 ? '' : panel({ title: 'Progress', id: 'progress' }, progress)}
${isRunning ? panelOf({ title: 'Under way', id: 'pending', note: 'at Temporal' }, pending, (found) => pendingList(tenantId, found, now)) : ''}
${panel({ title: 'Steps', id: 'steps', note: 'newest first' }, stepList(tenantId, run, now))}
${failures.length === 0 ? '' : panel({ title: 'Failed SIMs', id: 'failures', note: 'the first 100' }, failedSims(tenantId, failures))}
</div>
<div>
${panel({ title: isRunning ? 'State' : 'Result', id: 'state' }, facts([...stateRow(run), ...fieldsOf(tenantId, isRunning ? run.state : run.result)]))}
${input.length === 0 ? '' : panel({ title: 'Input', id: 'input' }, facts(input))}
${panel({ title: 'Run', id: 'run' }, facts(identityOf(run, history, now)))}
</div>
</div>`
}

const identityOf = (
  { workflowId, runId, startedAt, closedAt }: WorkflowInfo,
  history: string | undefined,
  now: number,
) =>
  [
    ['Started', ago(startedAt, now)],
    ['Ended', ago(closedAt, now, 'not yet')],
    ['Id', html`<bdi>${workflowId}</bdi>`],
    ['Run', runId],
    ...(history === undefined ? [] : [['History', html`<a href="${history}">On Temporal's page</a>`] as const]),
  ] as const

/** Without a word, the other fields stand for it. */
const stateRow = (run: WorkflowInfo): (readonly [string, string])[] => {
  const words = stateWords(run)
  return words !== '' ? [['State', words]] : viewOf(run.state) === null ? [['State', 'not known']] : []
}

/** The name of its SIM or its pool. */
async function nameOf(calls: Calls, workflowId: string): Promise<string | undefined> {
  const parts = parseWorkflowId(workflowId)
  if (parts !== undefined && 'simId' in parts) {
    const sim = await readSimNamed(calls, String(parts.simId))
    return sim.tag || sim.iccid
  }
  if (parts === undefined || !('poolId' in parts)) return undefined
  return (await mustAnswer(calls.outside.GET('/api/pools/{id}', { params: { path: { id: parts.poolId } } }))).name
}

function waitWords(tenantId: string, run: WorkflowInfo, now: number): Html {
  const view = viewOf(run.state)
  if (view === null) return html`No worker has answered: its steps and its wait are not known.`
  if (view.waitsFor === null) return html`${stateWords(run) || 'It goes on'}.`
  const { what, until, why } = view.waitsFor
  const latest = until === null ? '' : html`, ${ahead(until, now)} at the latest`
  return html`Waits for ${linked(tenantId, what)}${latest}: ${linked(tenantId, why)}.`
}

const endWords = ({ status, startedAt, closedAt, ...run }: WorkflowInfo, now: number): Html => {
  const took = duration(Date.parse(closedAt ?? startedAt) - Date.parse(startedAt))
  const words = stateWords(run)
  return html`${STATUSES[status][2]} ${ago(closedAt, now)}, after ${took}.${words === '' ? '' : ` ${words}.`}`
}

interface Step extends Pick<Progress, 'ended' | 'failed' | 'total'> {
  readonly name: string
}

/** SIMs that have ended, and failed, in a step that counts. @param more rows below */
export function progressRow(
  { name, ended, failed, total }: Step,
  more: readonly (readonly [string, Html | string])[] = [],
): Html {
  const words = `${count(ended)} of ${count(total)}`
  const failures = failed === 0 ? '' : html`, <span class="critical">${count(failed)} failed</span>`
  return html`<div class="inset">${meter(ended, total, `${name}: ${words}`)}</div>
${facts([[name, html`${words}${failures}`], ...more])}`
}

const progressList = (state: unknown, now: number): Html[] =>
  progressOf(state).map(({ step, ratePerSecond, estimatedEndAt, ...counts }) =>
    progressRow({ name: step === null ? 'SIMs' : nameWords(step), ...counts }, [
      ...(ratePerSecond === 0 || counts.ended === counts.total
        ? []
        : [['Pace', `${plainNumber(ratePerSecond)} a second`] as const]),
      ...(estimatedEndAt === null ? [] : [['Ends', ahead(estimatedEndAt, now)] as const]),
    ]),
  )

function stepList(tenantId: string, { state }: WorkflowInfo, now: number): Html {
  const view = viewOf(state)
  if (view === null || view.steps.length === 0)
    return html`<p class="empty">${view === null ? 'Not known: no worker has answered.' : 'None yet.'}</p>`
  return html`<ol class="log">${view.steps.toReversed().map(({ step, at, outcome, ticketId }) => {
    const ticket = ticketId === null ? '' : html`<small>${linked(tenantId, `ticket ${ticketId}`)}</small>`
    return line('check', html`${nameWords(step)}: ${linked(tenantId, outcome)}${ticket}`, ago(at, now))
  })}</ol>`
}

const failedSims = (tenantId: string, failures: ReturnType<typeof failuresOf>): Html => html`<ul class="log">
${failures.map((one) => line('critical', html`<a href="/t/${tenantId}/sims/${one.simId}">SIM ${one.simId}</a>: ${faultWords(one)}`))}
</ul>`
