/** Words, links and marks of workflows, for their list and pages, and for every page that names one. */
import { html } from 'hono/html'
import { parseWorkflowId, workflowTypeOf } from '../../../domain/temporal/ids.ts'
import { capital } from '../../../domain/text.ts'
import { hasFailed, wordOf } from '../../../domain/workflows/run-view.ts'
import { PASSING_WORDS, STATE_WORDS, TYPE_WORDS } from '../../../domain/workflows/words.ts'
import type { RunStatus, WorkflowInfo } from '../../../domain/workflows/workflow.ts'
import type { Html } from '../../parts/html.ts'
import type { IconName } from '../../parts/icon.ts'
import { badge } from '../../parts/marks.ts'
import { poolLink } from '../pools/marks.ts'

/** The type of a workflow in words; its id, if that is not of this service. */
export function typeWords(id: string): string {
  const type = workflowTypeOf(id)
  return type === undefined ? id : TYPE_WORDS[type]
}

/** Leads to the page of a workflow. @param words default: its type */
export const workflowLink = (tenantId: string, id: string, words: Html | string = typeWords(id)): Html =>
  html`<a href="/t/${tenantId}/workflows/${encodeURIComponent(id)}">${words}</a>`

export const STATUSES: Readonly<Record<RunStatus, readonly [IconName, string, string]>> = {
  running: ['next', 'quiet', 'Running'],
  completed: ['active', 'good', 'Completed'],
  failed: ['critical', 'critical', 'Failed'],
  cancelled: ['no', 'quiet', 'Cancelled'],
  terminated: ['critical', 'critical', 'Terminated'],
  timedOut: ['critical', 'critical', 'Timed out'],
}
/** @param retries whether it repeats a failed step. Lists leave it out */
export function runBadge(run: Pick<WorkflowInfo, 'status' | 'result'>, retries = false): Html {
  const isBad = run.status === 'completed' && hasFailed(run)
  const usual = STATUSES[run.status]
  const [name, tone, words] = retries
    ? (['refresh', 'warning', 'Retrying'] as const)
    : isBad
      ? (['warning', 'warning', 'Unsuccessful'] as const)
      : usual
  return badge(tone, words, name)
}

/** Empty: no state is known. */
export function stateWords(run: Pick<WorkflowInfo, 'state' | 'result'>): string {
  const word = wordOf(run)
  return STATE_WORDS[word] ?? PASSING_WORDS[word] ?? capital(word)
}

/** The objects of a workflow, as its id names them. @param name of its SIM or its pool */
export function objectsOf(id: string, name?: string): Html {
  const parts = parseWorkflowId(id)
  if (parts === undefined) return html`<bdi>${id}</bdi>`
  const cycle = 'cycleKey' in parts ? html`cycle <bdi>${parts.cycleKey}</bdi>` : ''
  if ('simId' in parts) {
    const sim = html`SIM <a href="/t/${parts.tenantId}/sims/${parts.simId}"><bdi>${name ?? parts.simId}</bdi></a>`
    return cycle === '' ? sim : html`${sim}, ${cycle}`
  }
  if ('poolId' in parts)
    return html`Pool ${poolLink(parts.tenantId, parts.poolId, name ?? String(parts.poolId))}, ${cycle}`
  if ('rule' in parts) return html`Rule <bdi>${parts.rule}</bdi>`
  if ('batchId' in parts) return html`Batch <bdi>${parts.batchId}</bdi>`
  return cycle === '' ? html`All cycles` : html`The ${cycle}`
}
